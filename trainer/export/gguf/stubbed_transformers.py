"""Keeps llama.cpp's converter from loading model code through transformers.

`AutoTokenizer` and `AutoConfig` load the model's code, torch's compiler and its distributed parts only to
choose a class: 150 MiB, a quarter of what an export may use beside a shard. The converter needs only what is
in tokenizer.json and in a complete config.json.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.model.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class _Tokenizer:
    def __init__(self, loaded: PreTrainedTokenizerBase | None) -> None:
        self.loaded = loaded

    def from_pretrained(self, folder: Path | str, **_: object) -> Any:
        """The tokenizer in `folder`, which may be loaded already."""
        tokenizer = load_tokenizer(folder) if self.loaded is None else self.loaded
        # The converter asks several times, and a dictionary of 152,000 tokens takes 0.3 s.
        vars(tokenizer)["get_vocab"] = functools.cache(tokenizer.get_vocab)
        return tokenizer


class _Config:
    """The config.json of a directory, which must be complete."""

    def __init__(self, folder: Path | str):
        self.values = json.loads((Path(folder) / "config.json").read_text("utf-8"))

    def to_dict(self) -> dict[str, object]:
        return self.values

    from_pretrained = classmethod(lambda cls, folder, **_: cls(folder))


@contextmanager
def stubbed_transformers(tokenizer: PreTrainedTokenizerBase | None = None) -> Iterator[None]:
    """Replaces `transformers.AutoTokenizer` and `transformers.AutoConfig` by stubs that only read files. With
    `tokenizer` the former gives that one."""
    import transformers

    stubs = {"AutoTokenizer": _Tokenizer(tokenizer), "AutoConfig": _Config}
    originals = {name: transformers.__dict__.get(name) for name in stubs}
    vars(transformers).update(stubs)
    try:
        yield
    finally:
        if tokenizer is not None:
            vars(tokenizer).pop("get_vocab", None)
        for name, value in originals.items():
            if value is None:
                delattr(transformers, name)
            else:
                setattr(transformers, name, value)
