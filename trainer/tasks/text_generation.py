"""Text generation: an input and the output to generate, a conversation, or text to continue."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.protocol.row import Message, Row


class TextGeneration:
    """Rows of `input` and `output`, of `messages`, or of `text`."""

    name = "text-generation"
    order = 1
    label = "Text generation"
    description = "An input and an output: replies, classification, rewriting, extraction."
    row_shapes = ("input-output", "messages", "text")
    families = ("causal", "seq2seq")
    metrics = ("eval_loss", "perplexity")
    # Only the loss is evaluated; no answers are generated.
    scored = ()
    best = ("eval_loss", False)

    def messages(self, row: Row) -> list[Message]:
        """The conversation of a row of input and output."""
        return [
            {"role": "user", "content": row["input"]},
            {"role": "assistant", "content": row["output"]},
        ]
