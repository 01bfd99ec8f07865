"""Summarization: a text and its summary."""

from __future__ import annotations

from typing import Any


class Summarization:
    """Rows of `input` (the text) and `output` (the summary); the prompt is the text alone."""

    name = "summarization"
    order = 2
    fields = ("input", "output")
    families = ("causal",)
    metrics = ("eval_loss", "perplexity")

    def messages(self, row: dict[str, Any]) -> list[dict[str, str]]:
        """The conversation that a row teaches."""
        return [
            {"role": "user", "content": row["input"]},
            {"role": "assistant", "content": row["output"]},
        ]
