"""The pre-tokenizers of byte-level BPE vocabularies in llama.cpp, and the same in a tokenizer.json.

The converter recognizes published tokenizers by a hash of their token ids, and so no custom vocabulary.
`derive` compares the pre-tokenizer in tokenizer.json with those of llama.cpp; `pre_tokenizer` writes the one
that a GGUF names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trainer.export.tokenizer.document import read

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

QWEN35 = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CJK = "[一-龥\u3040-ゟ゠-ヿ]+"
DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SEED_CODER = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
_PUNCTUATION = r"[\p{P}\$\+<=>\^~\|"

# llama.cpp's name -> (splits in order, ignore_merges), from src/llama-vocab.cpp. Of several names for one
# split the first decodes without cleaning up spaces.
SPLITS: dict[str, tuple[tuple[str, ...], bool]] = {
    "trillion": ((GPT2,), False),
    "smollm": (("digit", GPT2), False),
    "llama-bpe": ((LLAMA3,), True),
    "dbrx": ((LLAMA3,), False),
    "qwen2": ((QWEN2,), False),
    "qwen35": ((QWEN35,), False),
    "ufakzeka": ((QWEN2_PLAIN,), False),
    "tekken": ((TEKKEN,), True),
    "gpt-4o": ((GPT4O,), False),
    "deepseek-v3": ((r"\p{N}{1,3}", _CJK, DEEPSEEK3), False),
    "deepseek-coder": (("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+", "digit"), False),
    "seed-coder": ((SEED_CODER,), False),
    "bloom": ((r" ?[^(\s|.,!?…。，、।۔،)]+",), False),
    "falcon": ((rf"{_PUNCTUATION}`]+", GPT2, "[0-9][0-9][0-9]"), False),
    "default": ((rf"{_PUNCTUATION}]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"), False),
}
# Further names of a split.
ALIASES: dict[str, tuple[str, ...]] = {
    "trillion": (
        "gpt-2",
        "phi-2",
        "gigachat",
        "a.x-4.0",
        "mellum",
        "mpt",
        "olmo",
        "jais",
        "exaone4",
        "granite-docling",
    ),
    "smollm": ("starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"),
    "llama-bpe": ("llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
    "dbrx": ("smaug-bpe", "glm4", "chatglm-bpe"),
    "qwen2": ("deepseek-r1-qwen", "kormo", "stablelm2", "hunyuan", "solar-open", "megrez", "grok-2"),
    "gpt-4o": ("llama4", "kanana2", "minimax-m2"),
    "deepseek-v3": ("hunyuan-dense", "joyai-llm"),
    "bloom": ("poro-chat", "gpt3-finnish"),
}
_BY_NAME = SPLITS | {alias: SPLITS[name] for name, aliases in ALIASES.items() for alias in aliases}
_BY_SPLIT = {split: name for name, split in reversed(SPLITS.items())}


def pre_tokenizer(name: str) -> tuple[dict[str, Any], bool] | None:
    """The `pre_tokenizer` of a tokenizer.json for llama.cpp's pre-tokenizer `name`, and whether a word that
    is a token is taken whole (`ignore_merges`); None for an unknown name."""
    found = _BY_NAME.get(name)
    if found is None:
        return None
    steps, ignore_merges = found
    nodes = [_node(step) for step in steps]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    nodes.append({**byte_level, "use_regex": False})
    return {"type": "Sequence", "pretokenizers": nodes}, ignore_merges


def _node(step: str) -> dict[str, Any]:
    if step == "digit":
        return {"type": "Digits", "individual_digits": True}
    return {"type": "Split", "pattern": {"Regex": step}, "behavior": "Isolated", "invert": False}


def _steps(node: dict[str, Any] | None) -> list[str] | None:
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
    document = read(tokenizer_json)
    splits = json.dumps([document.get("pre_tokenizer"), document.get("decoder")])
    return document.get("model", {}).get("type") == "BPE" and '"ByteLevel"' in splits


def derive(tokenizer_json: Path) -> str | None:
    """llama.cpp's `tokenizer.ggml.pre` for this tokenizer, or None when there is none."""
    document = read(tokenizer_json)
    model = document.get("model", {})
    # The service normalizes texts before llama.cpp reads them (trainer/data/normalizer.py).
    if model.get("type") != "BPE":
        return None
    steps = _steps(document.get("pre_tokenizer"))
    if not steps:
        return None
    # With and without ignore_merges most words get the same tokens; the exact match is preferred.
    whole = bool(model.get("ignore_merges"))
    return _BY_SPLIT.get((tuple(steps), whole)) or _BY_SPLIT.get((tuple(steps), not whole))
