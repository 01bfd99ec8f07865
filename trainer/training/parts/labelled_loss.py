"""The loss of learned tokens, whose logits alone are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.libraries.trl import add_tokens, figures_of, tokens_of
from trainer.training.parts.part import Batch, Loss, Part

if TYPE_CHECKING:
    from torch import Tensor


class LabelledLoss(Part):
    """The loss is `loss` of a model without its adapter's wrapper, inputs and the number of items in the
    step; it returns it with the numbers of labelled tokens and of those that were predicted correctly. Logs
    tokens and accuracy as TRL's SFT trainer does."""

    loss: Callable[..., tuple[Tensor, Tensor, Tensor]]

    def loss_of(self, batch: Batch) -> Loss:
        loss, number, correct = self.computed(self.loss, batch, batch.items)
        count_tokens(self, batch)
        figures = figures_of(self, batch.model.training)
        assert figures is not None
        figures["mean_token_accuracy"].append(float(correct) / max(1, int(number)))
        return loss, {}


def count_tokens(part: Part, batch: Batch) -> None:
    """Counts the tokens of a batch, with the prompts', as TRL's SFT trainer does."""
    training = batch.model.training
    if training:
        mask = batch.inputs.get("attention_mask")
        add_tokens(part, int(mask.sum()) if mask is not None else batch.inputs["input_ids"].shape[1])
    figures = figures_of(part, training)
    assert figures is not None
    figures["num_tokens"] = [tokens_of(part)]
