"""Texts of the job with their token ids in training, to check the GGUF's tokenizer."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from trainer.data import conversations, pairs, tools
from trainer.data.normalizer import normalize
from trainer.data.rows import read_rows
from trainer.data.template import Template, split
from trainer.data.tools import Given
from trainer.protocol.contracts import Spec
from trainer.protocol.failures import Failure
from trainer.registry import create

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.row import Row

# Rows whose texts are compared.
ROWS = 64
# Characters of a text that are compared.
LONGEST = 20_000


def sample_texts(
    spec: Spec, template: Template, tokenizer: PreTrainedTokenizerBase
) -> tuple[list[str], list[list[int]]]:
    """Prompts and whole conversations, or texts, of the first rows, as the text that the engine gets and as
    token ids, without duplicates.

    No answer is compared alone: a request is always a prompt, which earlier answers are part of.
    """
    texts: dict[str, None] = {}
    for _, row in islice(read_rows(spec.dataset.path, ()), ROWS):
        try:
            if spec.dataset.shape == "text":
                texts[row["text"][:LONGEST]] = None
                continue
            prompt, completion = split(template, _messages(spec, template, row))
        except (Failure, KeyError, TypeError, IndexError):
            continue
        texts[prompt[:LONGEST]] = None
        texts[(prompt + completion)[:LONGEST]] = None
    found = [text for text in texts if text]
    if not found:
        return [], []
    ids = [list(row) for row in tokenizer(found, add_special_tokens=False).input_ids]
    return [normalize(template.normalizer, text) for text in found], ids


def _messages(spec: Spec, template: Template, row: Row) -> list[Given]:
    if spec.dataset.shape == "messages":
        return conversations.to_last_answer(template, tools.conversation(row, row["messages"]))
    if "prompt" in row and "chosen" in row:
        return pairs.messages(template, row)
    return conversations.to_last_answer(template, create("task", spec.task).messages(row))
