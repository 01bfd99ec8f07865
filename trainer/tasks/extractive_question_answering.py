"""Extractive question answering: a context, a question, and the answer as it stands in the context."""

from __future__ import annotations

from typing import Any


class ExtractiveQuestionAnswering:
    """Rows of `context`, `question`, `answer`; the question is the last paragraph of the prompt."""

    name = "extractive-question-answering"
    order = 3
    fields = ("context", "question", "answer")
    families = ("causal", "extractive")
    metrics = ("eval_loss", "perplexity", "exact_match", "f1")
    scored = ("exact_match", "f1")
    # The metric that keep_best and early stopping go by, and whether more of it is better.
    best = ("eval_f1", True)

    def messages(self, row: dict[str, Any]) -> list[dict[str, str]]:
        """The conversation that a row teaches."""
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
