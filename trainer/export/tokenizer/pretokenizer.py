"""Finds llama.cpp's pre-tokenizer for a byte-level BPE tokenizer that the converter does not know.

The converter recognizes published tokenizers by a hash of their token ids, and so no custom vocabulary. This
module compares the pre-tokenizer in tokenizer.json with those of llama.cpp.
"""

from __future__ import annotations

import json
from pathlib import Path

# The regular expressions of GPT-2 and its descendants, as in their tokenizer.json.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}{{1,3}}|{_REST}"
QWEN2 = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}|{_REST}"
QWEN2_PLAIN = rf"{_WORDS}|\p{{N}}|{_REST}"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_EDGE, _TAIL = r"[^\r\n\p{L}\p{N}]?", r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN = rf"{_EDGE}{_UPPER}*{_LOWER}+|{_EDGE}{_UPPER}+{_LOWER}*|\p{{N}}|{_TAIL}"
GPT4O = (
    rf"{_EDGE}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_EDGE}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}|{_TAIL}"
)

# (splits in order, ignore_merges) -> llama.cpp's name. Of several names for one split it is the one that
# decodes without cleaning up spaces (src/llama-vocab.cpp).
NAMES: dict[tuple[tuple[str, ...], bool], str] = {
    ((GPT2,), False): "trillion",
    (("digit", GPT2), False): "smollm",
    ((LLAMA3,), True): "llama-bpe",
    ((LLAMA3,), False): "dbrx",
    ((QWEN2,), False): "qwen2",
    ((QWEN2_PLAIN,), False): "ufakzeka",
    ((TEKKEN,), True): "tekken",
    ((GPT4O,), False): "gpt-4o",
}


def _steps(node: dict | None) -> list[str] | None:
    """The splits of a `pre_tokenizer` node in order, or None when one is unknown."""
    if node is None:
        return []
    kind = node["type"]
    if kind == "Sequence":
        found: list[str] = []
        for child in node["pretokenizers"]:
            steps = _steps(child)
            if steps is None:
                return None
            found += steps
        return found
    if kind == "ByteLevel":
        if node.get("add_prefix_space"):
            return None
        return [GPT2] if node.get("use_regex", True) else []
    if kind == "Digits":
        return ["digit"] if node.get("individual_digits") else None
    if kind == "Split":
        pattern = node["pattern"].get("Regex")
        if pattern is None or node.get("behavior") != "Isolated" or node.get("invert"):
            return None
        return ["digit"] if pattern in (r"\p{N}", r"\d", "[0-9]") else [pattern]
    return None


def is_byte_level(tokenizer_json: Path) -> bool:
    """Whether there is a tokenizer.json, of a byte-level BPE tokenizer."""
    if not tokenizer_json.is_file():
        return False
    document = json.loads(tokenizer_json.read_text("utf-8"))
    splits = json.dumps([document.get("pre_tokenizer"), document.get("decoder")])
    return document.get("model", {}).get("type") == "BPE" and '"ByteLevel"' in splits


def derive(tokenizer_json: Path) -> str | None:
    """llama.cpp's `tokenizer.ggml.pre` for this tokenizer, or None when there is none."""
    document = json.loads(tokenizer_json.read_text("utf-8"))
    model = document.get("model", {})
    # The service normalizes texts before llama.cpp reads them (trainer/data/normalizer.py).
    if model.get("type") != "BPE":
        return None
    steps = _steps(document.get("pre_tokenizer"))
    if not steps:
        return None
    # With and without ignore_merges most words get the same tokens; the exact match is preferred.
    whole = bool(model.get("ignore_merges"))
    return NAMES.get((tuple(steps), whole)) or NAMES.get((tuple(steps), not whole))
