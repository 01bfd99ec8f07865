"""Batches that are computed in parts of rows of similar length."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainer.kernels.allowed import why_not
from trainer.padding_free.length_groups import parts_of
from trainer.training.parts.part import Batch, Loss, Part

if TYPE_CHECKING:
    from torch import Tensor


class ByLength(Part):
    """Divides batches, whose loss is a mean over `count(inputs)` items, on a CPU; elsewhere, and where
    outputs are wanted, it leaves them whole."""

    count: Callable[[dict[str, Tensor]], int]

    def loss_of(self, batch: Batch) -> Loss:
        off = why_not("parts of a batch", self.args.device.type) is not None
        whole = off or (batch.whole and not self.args.prediction_loss_only)
        parts = [batch.inputs] if whole else parts_of(batch.inputs)
        if len(parts) == 1:
            return super().loss_of(batch)
        items = max(1, self.count(batch.inputs))
        losses = [super(ByLength, self).loss_of(Batch(batch.model, part))[0] for part in parts]
        weights = [self.count(part) / items for part in parts]
        parted: Any = sum(loss * weight for loss, weight in zip(losses, weights, strict=True) if weight)
        return parted, {}
