"""Micro-batches of a step that are about as much work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainer.libraries.peft import without_adapter
from trainer.training.parts.part import Part

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.data import DataLoader


class BalancedSteps(Part):
    """Balances the micro-batches of a step of a causal model without padding."""

    def loader(
        self, usual: Callable[[], DataLoader[dict[str, Tensor]]], rows: Any, training: bool
    ) -> DataLoader[dict[str, Tensor]]:
        loader = super().loader(usual, rows, training)
        per_step = self.args.gradient_accumulation_steps * self.args.world_size
        if not training or per_step == 1:
            return loader
        from trainer.padding_free.balanced_batches import balance_batches, rows_of

        inner = without_adapter(self.accelerator.unwrap_model(self.model))
        return balance_batches(loader, per_step, rows_of(rows, inner, self.args.per_device_train_batch_size))
