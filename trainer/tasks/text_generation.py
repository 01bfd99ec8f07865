"""Text generation: an input and the output that the model shall give to it."""

from __future__ import annotations

from typing import Any


class TextGeneration:
    """Rows of `input` and `output`."""

    name = "text-generation"
    order = 1
    fields = ("input", "output")
    families = ("causal", "seq2seq")
    metrics = ("eval_loss", "perplexity")
    # Nothing is scored by generating; the loss judges.
    scored = ()
    best = ("eval_loss", False)

    def messages(self, row: dict[str, Any]) -> list[dict[str, str]]:
        """The conversation that a row teaches."""
        return [
            {"role": "user", "content": row["input"]},
            {"role": "assistant", "content": row["output"]},
        ]
