"""Loads a tokenizer without the code of its model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def load_tokenizer(folder: Path | str) -> PreTrainedTokenizerBase:
    """The tokenizer of `folder`. Where there is no tokenizer.json, transformers chooses the class, which
    takes 150 MiB more memory."""
    if not (Path(folder) / "tokenizer.json").is_file():
        from transformers.models.auto.tokenization_auto import AutoTokenizer

        return AutoTokenizer.from_pretrained(folder)
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)
