"""Gradient accumulation that gives the same loss for every division of a step into micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainer.training.parts.part import Batch, Loss, Part

if TYPE_CHECKING:
    from torch import Tensor


class PerItem(Part):
    """Weights the loss of each micro-batch, a mean over `count(inputs)` items, by its share of the step's.

    The library sums the means for encoder-decoder models, whose forward pass ignores the count of the step,
    and averages them for all others, so that a smaller last micro-batch counts as much as a full one. Both
    make losses and weights depend on `gradient_accumulation_steps`.
    """

    count: Callable[[dict[str, Tensor]], int]

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        # Stops the library from scaling the loss itself.
        self.model_accepts_loss_kwargs = True

    def items_in(
        self, usual: Callable[[], Tensor | int | None], batches: list[dict[str, Tensor]]
    ) -> Tensor | int | None:
        return sum(self.count(batch) for batch in batches) if batches else None

    def loss_of(self, batch: Batch) -> Loss:
        # First, because the library removes entries from the inputs.
        share: Any = 1.0 if batch.items is None else self.count(batch.inputs) / batch.items
        loss, outputs = super().loss_of(batch.having(items=None))
        return loss * share, outputs


def labelled(inputs: dict[str, Tensor]) -> int:
    """The number of tokens of a batch that have a label."""
    return int((inputs["labels"] != -100).sum())


def sequences(inputs: dict[str, Tensor]) -> int:
    """The number of sequences of a batch."""
    return len(inputs["input_ids"])


def with_lengths(inputs: dict[str, Tensor]) -> int:
    """The number of rows, or pairs of rows, of a batch that has their `lengths`."""
    return len(inputs["lengths"])


def with_positions(inputs: dict[str, Tensor]) -> int:
    """The number of rows of a batch that has the `positions` of their last tokens."""
    return len(inputs["positions"])
