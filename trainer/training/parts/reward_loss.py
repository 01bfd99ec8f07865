"""The loss of a reward model without padding: what both answers have in common is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.libraries.peft import without_adapter
from trainer.padding_free.answers import laid_out, rewards_of
from trainer.training.parts.part import Batch, Loss, Part, training_precision

if TYPE_CHECKING:
    from torch import Tensor
    from transformers.modeling_outputs import SequenceClassifierOutput


class Collate:
    """Makes batches of pairs (`chosen_ids`, `rejected_ids`, each with its prompt), all chosen answers first;
    `pad` is the token that the model does not judge by."""

    def __init__(self, pad: int) -> None:
        self.pad = pad

    def __call__(self, pairs: list[dict[str, list[int]]]) -> dict[str, Tensor]:
        """What `laid_out` makes of the pairs. `attention_mask` has the tokens of each row: the library counts
        tokens by its sum."""
        import torch

        rows = [pair[name] for name in ("chosen_ids", "rejected_ids") for pair in pairs]
        return {**laid_out(rows, self.pad), "attention_mask": torch.tensor([len(row) for row in rows])}


class RewardLoss(Part):
    """Takes the batches of `Collate`. Logs what the library's trainer does, with the same loss of the same
    rewards: it is given them in place of the model's outputs."""

    def loss_of(self, batch: Batch) -> Loss:
        inner = without_adapter(self.accelerator.unwrap_model(batch.model))

        def judge(**_: object) -> SequenceClassifierOutput:
            from transformers.modeling_outputs import SequenceClassifierOutput

            return SequenceClassifierOutput(logits=rewards_of(inner, batch.inputs)[:, None])

        with training_precision(self.args):
            return super().loss_of(batch.having(model=judge))
