"""Options of a SentencePiece tokenizer in llama.cpp, chosen by which reproduce the job's own tokens.

llama.cpp adds a space before every piece of text or before none, where the tokenizer may add one before the
first only. Which is closer depends on how the texts begin, so the tokenizer's files alone do not tell; the
candidates are tried with llama.cpp on texts of the job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.export.tokenizer import sentencepiece_model
from trainer.export.tokenizer.document import read

# llama.cpp refuses a file whose name says phi-3 and that lacks one of these (src/llama-vocab.cpp).
PHI3_TOKENS = frozenset({"</s>", "<unk>", "<s>", "<|endoftext|>"})


@dataclass(frozen=True)
class TokenizerOptions:
    """`add_space_prefix`: whether each piece of text gets a space before it; None leaves it to llama.cpp's
    default for the vocabulary. `rstrip`: whether added tokens take the space behind them, as llama.cpp does
    for Phi-3 only."""

    add_space_prefix: bool | None = None
    rstrip: bool = False


def candidates(base: Path) -> list[TokenizerOptions]:
    """The options that may fit the tokenizer of the model directory `base`, the likeliest first."""
    if not (base / "tokenizer.json").is_file():
        # transformers makes the tokenizer of SentencePiece's file, and adds the space as its class does.
        only_sentencepiece = (base / "tokenizer.model").is_file()
        return [TokenizerOptions(prefix) for prefix in ((True, False) if only_sentencepiece else (None,))]
    document = read(base / "tokenizer.json")
    prefixes = _space_prefixes(document)
    return [TokenizerOptions(prefix, rstrip) for rstrip in _rstrips(document) for prefix in prefixes]


def choose(
    base: Path, expected: list[list[int]], tokenize: Callable[[TokenizerOptions], list[list[int]]]
) -> TokenizerOptions:
    """The candidate with which `tokenize`, llama.cpp's tokenizer, gives most of the `expected` tokens."""
    possible = candidates(base)
    if len(possible) == 1:
        return possible[0]
    best, most = possible[0], -1
    for options in possible:
        equal = sum(got == wanted for got, wanted in zip(tokenize(options), expected, strict=True))
        if equal > most:
            best, most = options, equal
        if equal == len(expected):
            break
    return best


def _space_prefixes(document: dict[str, Any]) -> list[bool | None]:
    """What `add_space_prefix` may be for a tokenizer.json."""
    if not sentencepiece_model.is_sentencepiece(document):
        return [None]
    pre = document.get("pre_tokenizer") or {}
    for node in pre.get("pretokenizers", [pre]):
        if node.get("type") == "Metaspace":
            scheme = node.get("prepend_scheme", "always")
            # "first": before the very first piece only, and not where a text begins with an added token.
            return [False, True] if scheme == "first" else [scheme == "always"]
    normalizer = document.get("normalizer") or {}
    parts = normalizer.get("normalizers", [normalizer])
    return [any(part.get("type") == "Prepend" for part in parts)]


def _rstrips(document: dict[str, Any]) -> list[bool]:
    """What `rstrip` may be for a tokenizer.json."""
    added = {token["content"]: token for token in document.get("added_tokens", [])}
    if any(name not in added for name in PHI3_TOKENS) or not any(
        token.get("rstrip") for token in added.values()
    ):
        return [False]
    likelier = bool(added["</s>"].get("rstrip"))
    return [likelier, not likelier]
