"""What the conversion needs of transformers, from a directory's files alone.

`AutoTokenizer` and `AutoConfig` bring the model's code, torch's compiler and its distributed parts into
memory to choose a class: 150 MiB, a quarter of what an export may hold beside a shard. tokenizer.json says
all that a conversion asks of the one, a configuration that was completed while training of the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def load_tokenizer(folder: Path | str) -> Any:
    """The tokenizer of `folder`; by transformers' own choice of class where there is no tokenizer.json."""
    if not (Path(folder) / "tokenizer.json").is_file():
        from transformers.models.auto.tokenization_auto import AutoTokenizer

        return AutoTokenizer.from_pretrained(folder)
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)


def complete_config(folder: Path | str) -> dict[str, Any]:
    """config.json of `folder` with what its family takes by default, which transformers 5 does not write.

    Loads the model's code: for a process that has it anyway.
    """
    from transformers import AutoConfig

    return json.loads(AutoConfig.from_pretrained(folder).to_json_string(use_diff=False))


class _Tokenizer:
    from_pretrained = staticmethod(lambda folder, **_: load_tokenizer(folder))


class _Config:
    """The directory's config.json, which is complete."""

    def __init__(self, folder: Path | str):
        self.values = json.loads((Path(folder) / "config.json").read_text("utf-8"))

    def to_dict(self) -> dict[str, Any]:
        return self.values

    from_pretrained = classmethod(lambda cls, folder, **_: cls(folder))


@contextmanager
def light_transformers() -> Iterator[None]:
    """Within it, what is imported from transformers as `AutoTokenizer` and `AutoConfig` reads files alone,
    as far as llama.cpp's converter asks it."""
    import transformers

    stand_ins = {"AutoTokenizer": _Tokenizer, "AutoConfig": _Config}
    known = {name: transformers.__dict__.get(name) for name in stand_ins}
    vars(transformers).update(stand_ins)
    try:
        yield
    finally:
        for name, value in known.items():
            if value is None:
                delattr(transformers, name)
            else:
                setattr(transformers, name, value)
