"""Compares a tokenizer with llama.cpp's tokens of the same GGUF."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export import node_tools
from trainer.export.gguf.header import Header
from trainer.model.tokenizer import load_tokenizer
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Texts that are put together from FRAGMENTS, and rows of the job whose texts are compared.
MADE, ROWS = 2_000, 1_000
# Characters of a text, and of all the job's texts, that are compared.
LONGEST, MOST = 2_000, 1_000_000
SEED = 20

# Scripts, numbers, spaces, code, punctuation and emoji: what pre-tokenizers treat differently.
# fmt: off
FRAGMENTS = (
    *("The quick brown fox", "jumps over", "don't", "they'RE", "I'd've", "naïve café", "HELLO"),
    *("camelCase", "snake_case_name", "Grüße aus Köln", "L'été à Paris", "señor", "ĳsselmeer", "Straße"),
    *("İstanbul'da", "Привет, как дела?", "Съешь ещё", "γειά σου Κόσμε", "שלום עולם", "مرحبا بالعالم"),
    *("سلام دنیا", "नमस्ते", "বাংলা ভাষা", "தமிழ\u0bcd மொழி", "ภาษาไทยง\u0e48าย", "你好世界"),
    *("我們在北京。", "こんにちは世界", "カタカナ", "한국어 문장", "ქართული", "Հայերեն", "አማርኛ"),
    *("ខ\u17d2មែរ", "0", "7", "42", "123", "2024", "1234567890", "3.14159", "1,000,000", "٣٤٥", "१२३"),
    *("Ⅷ", "½", "x²", "1e-5", "0xFF", "v1.2.3", "2024-12-31T23:59:59Z", "+49 (0)30 1234-567", "$99.95"),
    *("100%", "№ 5", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\t\t", " \n ", "\u00a0", "\u2003"),
    *("\u200b", "\ufeff", "\u3000", "def f(x):\n    return x**2\n", "for (int i=0;i<n;++i) {}"),
    *("print(\"hi\")", "SELECT * FROM t WHERE a='b';", "<div class=\"a\">&nbsp;</div>"),
    *("{\"key\": [1, null, true]}", "`code`", "https://example.org/a?b=c&d=%20#e", "a@b.co"),
    *("C:\\Windows\\x.txt", "/usr/bin/env", "```py\n", "# Title", "- item", "| a | b |"),
    *("$\\frac{1}{2}$", ".", "...", "…", "!?", "—", "–", "--", "«»", "“quoted”", "'single'", "(", "))"),
    *("[]", "{}", "<>", "@#$%^&*_+=~", "。", "、", "！", "¿Qué?", "·", "•", "™", "€", "→", "≤", "∑", "♥"),
    *("😀", "👩\u200d💻", "🇩🇪", "👍🏽", "🧑🏿\u200d🚀", "e\u0301", "a\u0308o\u0308", "ﬁ", "Ａ１", "㎞"),
    *("\u0007", "🧿", "𠀀", "\ue000", "ǅ", "ŉ", "ß"),
)
# fmt: on


def check_tokens(
    header: Header, folder: Path, rows: Path, score: list[str], beat_or_stop: Callable[[], None]
) -> None:
    """Failure `bad_tokenizer`, with an example, unless the tokenizer in `folder` splits texts as llama.cpp
    does with the vocabulary of the GGUF: texts of `rows`, a JSONL file, and a fixed set.

    `score` is the program that reaches llama.cpp; `beat_or_stop` is called often and may raise.
    """
    texts = list(dict.fromkeys([*made_texts(), *_special_texts(header), *texts_of(rows)]))
    tokenizer = load_tokenizer(folder)
    request = {"gguf": str(header.path), "vocabularyOnly": True, "sequences": [], "texts": texts}
    expected = node_tools.score(score, request, beat_or_stop)["texts"]
    for text, wanted in zip(texts, expected, strict=True):
        beat_or_stop()
        found = tokenizer(text, add_special_tokens=False).input_ids
        if found != wanted:
            raise _difference(text, tokenizer, found, wanted)


def _difference(
    text: str, tokenizer: PreTrainedTokenizerBase, found: list[int], wanted: list[int]
) -> Failure:
    same = next(
        (index for index, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]),
        min(len(found), len(wanted)),
    )
    start = max(0, same - 2)
    here, there = (tokenizer.convert_ids_to_tokens(ids[start : same + 4]) for ids in (found, wanted))
    return Failure(
        "bad_tokenizer",
        "Hone cannot make this GGUF's tokenizer: a text gets other tokens than in llama.cpp.",
        "Train the model from its safetensors files, or choose another model.",
        f"{text[:200]!r}: token {same + 1} of {len(wanted)}: {here} here, {there} in llama.cpp",
    )


def made_texts() -> Iterator[str]:
    """The fixed set: every fragment, alone and behind a space, and MADE texts of several."""
    chosen = random.Random(SEED)
    for fragment in FRAGMENTS:
        yield fragment
        yield f" {fragment}"
    for _ in range(MADE):
        parts = chosen.choices(FRAGMENTS, k=chosen.randint(2, 8))
        yield chosen.choice(("", " ")).join(parts)


def _special_texts(header: Header) -> Iterator[str]:
    """Texts with each of the special tokens between words, up to MADE of them."""
    tokens, types = header.tokenizer("tokens"), header.tokenizer("token_type") or []
    special = (token for token, kind in zip(tokens, types, strict=False) if kind in (3, 4))
    for token in islice(special, MADE):
        yield f"{token}user\nOne two.{token}\n x {token} y"


def texts_of(rows: Path) -> Iterator[str]:
    """The texts in the first rows of a JSONL file, which may be gone."""
    left = MOST
    if not rows.exists():
        return
    with open(rows, encoding="utf-8", errors="replace") as lines:
        for line in islice(lines, ROWS):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            for text in _strings(row):
                yield text[:LONGEST]
                left -= min(len(text), LONGEST)
            if left <= 0:
                return


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
