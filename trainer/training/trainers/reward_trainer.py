"""The library's trainer of reward models without padding: what both answers to a prompt have in common is
computed once.

Imports transformers; import it inside functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from transformers.modeling_outputs import SequenceClassifierOutput

from trainer.padding_free.answers import laid_out, rewards_of
from trainer.padding_free.trial import autocast

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


class Collate:
    """Makes batches of pairs (`chosen_ids`, `rejected_ids`, each with its prompt), all chosen answers first;
    `pad` is the token that the model does not judge by."""

    def __init__(self, pad: int) -> None:
        self.pad = pad

    def __call__(self, pairs: list[dict[str, list[int]]]) -> dict[str, Tensor]:
        """What `laid_out` makes of the pairs. `attention_mask` has the tokens of each row: the library counts
        tokens by its sum."""
        rows = [pair[name] for name in ("chosen_ids", "rejected_ids") for pair in pairs]
        return {**laid_out(rows, self.pad), "attention_mask": torch.tensor([len(row) for row in rows])}


def rows_in(inputs: dict[str, Tensor]) -> int:
    """The number of rows of a batch."""
    return len(inputs["positions"])


def reward_trainer(base: type) -> type:
    """A subclass of `base`, the library's trainer of reward models, that takes the batches of `Collate`."""

    class FlatRewardTrainer(base):
        """Logs what the library's trainer does, with the same loss of the same rewards."""

        def compute_loss(
            self, model: PreTrainedModel, inputs: dict[str, Tensor], *others: object, **named: object
        ) -> Tensor | tuple[Tensor, object]:
            inner = self.accelerator.unwrap_model(model).get_base_model()

            def judge(**_: object) -> SequenceClassifierOutput:
                return SequenceClassifierOutput(logits=rewards_of(inner, inputs)[:, None])

            args = self.args
            with autocast(args.device.type, "bfloat16" if args.bf16 else "float16" if args.fp16 else None):
                return super().compute_loss(judge, inputs, *others, **named)

    return FlatRewardTrainer
