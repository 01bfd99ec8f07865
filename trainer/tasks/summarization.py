"""Summarization: a text and its summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.protocol.row import Message, Row


class Summarization:
    """Rows of `input` (the text) and `output` (the summary); the prompt is the text."""

    name = "summarization"
    order = 2
    label = "Summarization"
    description = "A long text and its summary."
    row_shapes = ("input-output",)
    families = ("causal", "seq2seq")
    metrics = ("eval_loss", "perplexity", "rouge1", "rouge2", "rougeL")
    scored = ("rouge1", "rouge2", "rougeL")
    # The metric for keep_best and early stopping, and whether higher is better.
    best = ("eval_rougeL", True)

    def messages(self, row: Row) -> list[Message]:
        """The conversation of a row."""
        return [
            {"role": "user", "content": row["input"]},
            {"role": "assistant", "content": row["output"]},
        ]

    def score(self, answers: list[str], references: list[str]) -> dict[str, float]:
        """ROUGE-1, ROUGE-2 and ROUGE-L as F-measures from 0 to 1, without stemming."""
        from torchmetrics.functional.text import rouge_score

        figures = rouge_score(answers, references, rouge_keys=self.scored)
        return {name: float(figures[f"{name}_fmeasure"]) for name in self.scored}
