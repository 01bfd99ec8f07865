"""Gradient accumulation that gives the same loss for every division of a step into micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel


def weighted_accumulation(base: type, count: Callable[[dict[str, Tensor]], int | Tensor]) -> type:
    """A subclass of `base`, whose `compute_loss` is a mean over a micro-batch, that weights each micro-batch
    by `count(inputs)`, the number of items in that mean.

    The library sums the means for encoder-decoder models, whose forward pass ignores the count of the step,
    and averages them for all others, so that a smaller last micro-batch counts as much as a full one. Both
    make losses and weights depend on `gradient_accumulation_steps`.
    """

    class WeightedAccumulation(base):
        """Scales the loss of a micro-batch by its share of the step."""

        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)
            # Stops the library from scaling the loss itself.
            self.model_accepts_loss_kwargs = True

        def _get_num_items_in_batch(
            self, batches: list[dict[str, Tensor]], device: torch.device
        ) -> Tensor | int | None:
            return sum(count(batch) for batch in batches) if batches else None

        def compute_loss(
            self,
            model: PreTrainedModel,
            inputs: dict[str, Tensor],
            return_outputs: bool = False,
            num_items_in_batch: Tensor | int | None = None,
        ) -> Tensor | tuple[Tensor, object]:
            # First, because the library removes entries from the inputs.
            share = 1.0 if num_items_in_batch is None else count(inputs) / num_items_in_batch
            given = super().compute_loss(model, inputs, return_outputs=return_outputs)
            return (given[0] * share, given[1]) if return_outputs else given * share

    return WeightedAccumulation


def labelled(inputs: dict[str, Tensor]) -> int:
    """The number of tokens of a batch that have a label."""
    return int((inputs["labels"] != -100).sum())


def sequences(inputs: dict[str, Tensor]) -> int:
    """The number of sequences of a batch."""
    return len(inputs["input_ids"])
