"""Extractive question answering: a context, a question, and the answer as it stands in the context."""

from __future__ import annotations

from typing import Any


class ExtractiveQuestionAnswering:
    """Rows of `context`, `question`, `answer`; the question is the last paragraph of the prompt."""

    name = "extractive-question-answering"
    order = 3
    fields = ("context", "question", "answer")
    families = ("causal",)
    metrics = ("eval_loss", "perplexity")

    def messages(self, row: dict[str, Any]) -> list[dict[str, str]]:
        """The conversation that a row teaches."""
        return [
            {"role": "user", "content": f"{row['context']}\n\n{row['question']}"},
            {"role": "assistant", "content": row["answer"]},
        ]
