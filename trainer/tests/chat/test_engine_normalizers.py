"""A text is normalized for the engine as the tokenizer normalizes it in training."""

import json
from pathlib import Path

import pytest
from tokenizers import Regex, normalizers
from transformers import AutoTokenizer

from trainer.data import normalizer, template
from trainer.tests.chat import render_as_playground
from trainer.tests.chat.models import build
from trainer.tests.chat.test_engine_ids import engine_ids

DATA = Path(__file__).parents[1] / "data"
TEXTS = [
    *(
        json.loads(line)["input"]
        for file in ("normalized-texts.jsonl", "decomposed.jsonl")
        for line in (DATA / file).read_text("utf-8").splitlines()
    ),
    "ΟΔΟΣ İstanbul STRASSE ẞ",
    "\u0085 Ǆ \x1c ﷺ \u3000",
    "<|im_end|>\u0338 as text",
    "  many   spaces\n",
]
NORMALIZERS = {
    "nfc": normalizers.NFC(),
    "nfd": normalizers.NFD(),
    "nfkc lower": normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]),
    "nfkd strip": normalizers.Sequence([normalizers.NFKD(), normalizers.Strip()]),
    "replace": normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace(Regex(" {2,}"), "$1"),
            normalizers.Strip(left=False, right=True),
        ]
    ),
}


@pytest.mark.parametrize("name", NORMALIZERS)
def test_the_engine_gets_the_tokens_of_training(name, tmp_path):
    base = build("qwen3", tmp_path / "base")
    loaded = AutoTokenizer.from_pretrained(base)
    loaded.backend_tokenizer.normalizer = NORMALIZERS[name]
    loaded.save_pretrained(base)
    tokenizer = AutoTokenizer.from_pretrained(base)
    made = template.choose(tokenizer, json.loads((base / "config.json").read_text()), None)
    template.save(made, "text-generation", tmp_path / "template.json")
    asked = [[{"role": "user", "content": text}] for text in TEXTS]
    rendered = [template.render(made, messages, True) for messages in asked]
    trained = tokenizer(rendered, add_special_tokens=False).input_ids
    texts = render_as_playground([(tmp_path / "template.json", messages) for messages in asked])
    assert texts == [normalizer.normalize(made.normalizer, text) for text in rendered]
    assert texts != rendered
    assert engine_ids(base, made, texts, trained, tmp_path) == trained


def test_what_cannot_be_reproduced_is_named(tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(build("qwen3", tmp_path / "base"))
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.StripAccents()]
    )
    assert normalizer.describe(tokenizer) == {"unsupported": "StripAccents"}
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    assert normalizer.describe(tokenizer) is None
