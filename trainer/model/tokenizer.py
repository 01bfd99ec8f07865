"""Loads a tokenizer without the code of its model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.libraries.transformers import vocabulary_read_once

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase


def load_tokenizer(folder: Path | str) -> PreTrainedTokenizerBase:
    """The tokenizer of `folder`, by its tokenizer.json. Where there is none, transformers chooses the class,
    which takes 150 MiB more memory."""
    if not (Path(folder) / "tokenizer.json").is_file():
        return _of_class(folder)
    from transformers import PreTrainedTokenizerFast

    with vocabulary_read_once():
        return PreTrainedTokenizerFast.from_pretrained(folder)


def load_with_class(folder: Path | str) -> PreTrainedTokenizerBase:
    """The tokenizer of `folder` in the class that transformers chooses for its model; older versions look for
    that class beside an adapter.

    Some classes replace the rules of tokenizer.json: Qwen2Tokenizer splits every number into digits, whatever
    the file says. The tokenizer is then loaded as by `load_tokenizer`, since the exported file has the rules
    of tokenizer.json.
    """
    from transformers import PreTrainedTokenizerFast

    chosen = _of_class(folder)
    path = Path(folder) / "tokenizer.json"
    if (
        type(chosen) is PreTrainedTokenizerFast
        or not path.is_file()
        or not hasattr(chosen, "backend_tokenizer")
    ):
        return chosen
    document = json.loads(path.read_text("utf-8"))
    same = _rules(chosen.backend_tokenizer, {}) == _rules(_without_vocabulary(document), document["model"])
    return chosen if same else load_tokenizer(folder)


def adds_bos(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer puts its beginning-of-text token before a text by itself."""
    if tokenizer.bos_token_id is None:
        return False
    return tokenizer("a").input_ids[:1] == [tokenizer.bos_token_id]


def _of_class(folder: Path | str) -> PreTrainedTokenizerBase:
    from transformers.models.auto.tokenization_auto import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def _without_vocabulary(document: dict[str, Any]) -> Tokenizer:
    """The tokenizer of a tokenizer.json with its rules alone: a large vocabulary takes most of a second."""
    from tokenizers import Tokenizer

    bare: dict[str, object] = {
        "model": {"type": "BPE", "vocab": {}, "merges": []},
        "added_tokens": [],
        "post_processor": None,
    }
    return Tokenizer.from_str(json.dumps({**document, **bare}))


def _rules(tokenizer: Tokenizer, model: Mapping[str, object]) -> list[object]:
    """How it normalizes and splits texts, and what its model does besides merging, as `model` or else the
    tokenizer's own says."""
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer)
    options = ("byte_fallback", "fuse_unk", "ignore_merges", "unk_token")
    return [
        *(None if part is None else _without_offsets(json.loads(part.__getstate__())) for part in parts),
        *(
            (model.get(option) if model else getattr(tokenizer.model, option, None)) or None
            for option in options
        ),
    ]


def _without_offsets(rule: object) -> object:
    """The rule without `trim_offsets`, which changes no token."""
    if isinstance(rule, dict):
        return {key: _without_offsets(value) for key, value in rule.items() if key != "trim_offsets"}
    return [_without_offsets(item) for item in rule] if isinstance(rule, list) else rule
