"""A tokenizer's normalizer, which the service applies to a prompt before llama.cpp tokenizes it.

llama.cpp has none: without this, `é` written as two characters (NFC), `Ａ` (NFKC) or upper case (Lowercase)
would become other tokens than in training. `src/inference/template/normalize.ts` does the same as
`normalize`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Those that JavaScript has, too. Precompiled (SentencePiece's own tables), BertNormalizer and others are not.
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# How SentencePiece writes a space: llama.cpp does that by itself.
SPACE = "▁"


def describe(tokenizer: PreTrainedTokenizerBase) -> dict[str, object] | None:
    """What `template.json` holds of the normalizer; None where it changes no text.

    `steps` are those of tokenizer.json, in order, without SentencePiece's own writing of spaces; `kept` are
    the tokens that are found before, in the text as it is. With a step that cannot be reproduced it has only
    `unsupported`, the step's type.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    normalizer = backend.normalizer
    # A part is pickled as its JSON: that of the whole tokenizer would have the vocabulary.
    steps = _steps(None if normalizer is None else json.loads(normalizer.__getstate__()))
    unknown = next((step["type"] for step in steps if not _is_reproducible(step)), None)
    if unknown is not None:
        return {"unsupported": unknown}
    if not steps:
        return None
    added = tokenizer.added_tokens_decoder.values()
    return {"steps": steps, "kept": sorted(token.content for token in added if not token.normalized)}


def normalize(described: Mapping[str, object] | None, text: str) -> str:
    """`text` as the tokenizer normalizes it; unchanged where `describe` gave None or `unsupported`."""
    if described is None or "steps" not in described:
        return text
    kept, apply = _compiled(json.dumps(described))
    pieces = kept.split(text) if kept else [text]
    # Those that the pattern matched stand at odd places.
    return "".join(piece if at % 2 else apply(piece) for at, piece in enumerate(pieces))


def _steps(node: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if node is None:
        return []
    if node["type"] == "Sequence":
        return [step for child in node["normalizers"] for step in _steps(child)]
    writes_space = (node["type"] == "Prepend" and node["prepend"] == SPACE) or (
        node["type"] == "Replace" and node["pattern"] == {"String": " "} and node["content"] == SPACE
    )
    return [] if writes_space else [node]


def _is_reproducible(step: Mapping[str, object]) -> bool:
    return step["type"] in (*FORMS, "Lowercase", "Strip", "Replace")


@lru_cache(maxsize=8)
def _compiled(described: str) -> tuple[re.Pattern[str] | None, Callable[[str], str]]:
    """The pattern of the tokens to keep, and a function that normalizes the text between them."""
    from tokenizers import Regex, normalizers

    value = json.loads(described)
    made: list[normalizers.Normalizer] = []
    for step in value["steps"]:
        if step["type"] == "Strip":
            made.append(normalizers.Strip(left=step["strip_left"], right=step["strip_right"]))
        elif step["type"] == "Replace":
            [(kind, pattern)] = step["pattern"].items()
            made.append(normalizers.Replace(Regex(pattern) if kind == "Regex" else pattern, step["content"]))
        else:
            made.append(getattr(normalizers, step["type"])())
    longest_first = sorted(value["kept"], key=len, reverse=True)
    kept = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None
    return kept, normalizers.Sequence(made).normalize_str
