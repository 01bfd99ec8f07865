"""A part of a trainer class, and how a class is made of parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from trainer.libraries.peft import without_adapter
from trainer.libraries.transformers import TrainerSteps
from trainer.libraries.trl import within_forward
from trainer.padding_free.trial import autocast

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, Trainer, TrainingArguments

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """A micro-batch whose loss is wanted from `model`: its `inputs`, and the number of `items` in its step,
    or None where the loss is that of the batch alone. `whole` says that the model's outputs are wanted."""

    model: PreTrainedModel
    inputs: dict[str, Any]
    items: Tensor | int | None = None
    whole: bool = False

    def having(self, **changed: Any) -> Batch:
        """The same with other fields."""
        return replace(self, **changed)


# A loss, and the outputs of the model where they were wanted.
Loss = tuple["Tensor", object]


class Part(TrainerSteps):
    """One thing that a trainer does otherwise than the library's.

    A part overrides methods of the trainer, of `TrainerSteps`, or `loss_of`. `super()` is the next part, and
    after the last one the library's trainer. `trainer_class` makes a class of parts.
    """

    @classmethod
    def of(cls: type[T], **values: object) -> type[T]:
        """This part with class attributes set to `values`."""
        kept = {name: staticmethod(it) if isinstance(it, FunctionType) else it for name, it in values.items()}
        return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, "__module__": cls.__module__, **kept})

    def loss_of(self, batch: Batch) -> Loss:
        """The loss of a micro-batch: the library's, unless a part computes it."""
        given = super().compute_loss(batch.model, batch.inputs, batch.whole, batch.items)
        return given if batch.whole else (given, {})

    def compute_loss(
        self,
        model: PreTrainedModel,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor | Loss:
        """The library's way to ask for `loss_of`."""
        loss, outputs = self.loss_of(Batch(model, inputs, num_items_in_batch, return_outputs))
        return (loss, outputs) if return_outputs else loss

    def computed(self, function: Callable[..., T], batch: Batch, *given: object) -> T:
        """What `function` returns for the model without its adapter's wrapper, the inputs of `batch` and
        `given`, in the precision of the training and within the forward pass of the model."""
        unwrapped = self.accelerator.unwrap_model(batch.model)
        with training_precision(self.args):
            return within_forward(
                batch.model, unwrapped, function, without_adapter(unwrapped), batch.inputs, *given
            )


def training_precision(args: TrainingArguments) -> AbstractContextManager[object]:
    """Autocast as in training: outside of its loop the library does not apply it."""
    return autocast(args.device.type, "bfloat16" if args.bf16 else "float16" if args.fp16 else None)


def trainer_class(library: type[Trainer], *parts: type) -> type[Any]:
    """A subclass of `library`, a trainer class, with `parts` in the order in which they act."""
    return type(f"Hone{library.__name__}", (*parts, library), {"__module__": __name__})
