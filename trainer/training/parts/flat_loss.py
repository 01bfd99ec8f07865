"""The loss of rows without padding, those of a batch one sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.training.parts.part import Batch, Loss, Part

if TYPE_CHECKING:
    from torch import Tensor


class FlatLoss(Part):
    """The loss is `loss` of a model without its adapter's wrapper and of inputs: a mean over what the batch
    counts."""

    loss: Callable[..., Tensor]

    def loss_of(self, batch: Batch) -> Loss:
        return self.computed(self.loss, batch), {}
