"""Makes a tiny model of each architecture with a chat template that is published for it.

    python -m trainer.tests.chat.models DIR [KIND…]

Writes DIR/KIND for each KIND of TEMPLATES, which is the default.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from trainer.tests import export_fixture, tiny
from trainer.tests.chat import equip

# By kind of `trainer.tests.export_fixture`, the name of the case in `trainer.tests.chat`.
TEMPLATES = {
    "llama": "llama3",
    "qwen3": "qwen3",
    "gemma3": "gemma3",
    "gpt2": "hone",
    "mistral": "mistral",
    "gemma2": "gemma",
    "phi3": "phi3",
    "mistral-sp": "mistral+system",
}


def build(kind: str, directory: Path) -> Path:
    """Writes the model of `kind` with its tokenizer into `directory` and returns it."""
    if kind in export_fixture.SENTENCEPIECE_KINDS:
        tokenizer = equip(export_fixture.sentencepiece_tokenizer(directory, kind), TEMPLATES[kind])
        return write(tokenizer, export_fixture.build_sentencepiece_model(kind, tokenizer), directory)
    tokenizer = equip(tiny.build_tokenizer(), TEMPLATES[kind])
    return write(tokenizer, tiny.build_model(kind, tokenizer), directory)


def write(tokenizer: Any, model: Any, directory: Path) -> Path:
    """Writes both into `directory` and returns it."""
    tokenizer.model_max_length = 256
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


if __name__ == "__main__":
    for name in sys.argv[2:] or TEMPLATES:
        build(name, Path(sys.argv[1]) / name)
