"""The loss of a student, by what its teacher says of the learned tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.libraries.trl import figures_of
from trainer.training.parts.labelled_loss import count_tokens
from trainer.training.parts.part import Batch, Loss, Part
from trainer.training.teaching.divergence import Taught

if TYPE_CHECKING:
    from torch import Tensor


class TaughtLoss(Part):
    """The loss is `loss` of a model without its adapter's wrapper, inputs, the number of items in the step
    and `taught`. Logs, beside what `LabelledLoss` does, the divergence from the teacher and the loss of the
    labels, each per learned token."""

    loss: Callable[..., tuple[Tensor, ...]]
    taught: Taught

    def loss_of(self, batch: Batch) -> Loss:
        loss, number, correct, apart, of_labels = self.computed(self.loss, batch, batch.items, self.taught)
        count_tokens(self, batch)
        figures = figures_of(self, batch.model.training)
        assert figures is not None
        learned = max(1, int(number))
        figures["mean_token_accuracy"].append(float(correct) / learned)
        figures["divergence"].append(float(apart) / learned)
        figures["label_loss"].append(float(of_labels) / learned)
        return loss, {}
