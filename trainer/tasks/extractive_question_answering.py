"""Extractive question answering: a context, a question, and the answer copied from the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.protocol.row import Message, Row


class ExtractiveQuestionAnswering:
    """Rows of `context`, `question`, `answer`; the question is the last paragraph of the prompt."""

    name = "extractive-question-answering"
    order = 3
    label = "Question answering"
    description = "A context and a question; the answer is taken from the context."
    row_shapes = ("question-answer",)
    families = ("causal", "extractive")
    metrics = ("eval_loss", "perplexity", "exact_match", "f1")
    scored = ("exact_match", "f1")
    # The metric for keep_best and early stopping, and whether higher is better.
    best = ("eval_f1", True)

    def messages(self, row: Row) -> list[Message]:
        """The conversation of a row."""
        return [
            {"role": "user", "content": f"{row['context']}\n\n{row['question']}"},
            {"role": "assistant", "content": row["answer"]},
        ]

    def score(self, answers: list[str], references: list[str]) -> dict[str, float]:
        """Exact match and F1 by SQuAD's definition, in percent."""
        from torchmetrics.functional.text import squad

        figures = squad(
            [{"id": str(number), "prediction_text": text} for number, text in enumerate(answers)],
            [
                {"id": str(number), "answers": {"text": [text], "answer_start": [0]}}
                for number, text in enumerate(references)
            ],
        )
        return {name: float(figures[name]) for name in self.scored}
