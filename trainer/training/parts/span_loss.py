"""The loss of answers that are spans of a context, of padded rows."""

from __future__ import annotations

from trainer.training.parts.part import Batch, Loss, Part


class SpanLoss(Part):
    """The mean of the cross entropies of the start and end positions.

    The models' own loss counts padding as possible answer positions, so that a row's loss depends on the
    other rows of its batch.
    """

    def loss_of(self, batch: Batch) -> Loss:
        from torch.nn.functional import cross_entropy

        inputs = batch.inputs
        outputs = batch.model(**inputs)
        padding = inputs["attention_mask"] == 0
        start, end = (
            cross_entropy(logits.float().masked_fill(padding, float("-inf")), inputs[f"{side}_positions"])
            for side, logits in (("start", outputs.start_logits), ("end", outputs.end_logits))
        )
        return (start + end) / 2, outputs
