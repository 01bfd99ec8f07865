"""The library's trainer with a loss for rows without padding, those of a batch one sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.padding_free.trial import autocast

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


def flat_trainer(base: type, flat_loss: Callable[[PreTrainedModel, dict[str, Tensor]], Tensor]) -> type:
    """A subclass of `base`, a trainer class of the library, whose loss is `flat_loss` of a model without its
    adapter's wrapper and of a batch, a mean over what the batch counts."""
    from trl.models.utils import _ForwardRedirection

    redirect = _ForwardRedirection()

    class FlatTrainer(base):
        """Leaves padding out."""

        def compute_loss(
            self,
            model: PreTrainedModel,
            inputs: dict[str, Tensor],
            return_outputs: bool = False,
            num_items_in_batch: Tensor | int | None = None,
        ) -> Tensor | tuple[Tensor, object]:
            args = self.args
            unwrapped = self.accelerator.unwrap_model(model)
            given = unwrapped.get_base_model(), inputs
            with autocast(args.device.type, "bfloat16" if args.bf16 else "float16" if args.fp16 else None):
                # Within the forward pass of DDP, which averages the gradients of the ranks only then.
                loss = (
                    flat_loss(*given) if model is unwrapped else redirect(model, unwrapped, flat_loss, *given)
                )
            return (loss, {}) if return_outputs else loss

    return FlatTrainer


def rows_in(inputs: dict[str, Tensor]) -> int:
    """The number of rows of a batch that tells their `lengths`."""
    return len(inputs["lengths"])
