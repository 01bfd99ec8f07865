"""Tokens that share a character are told together, with the bytes of each."""

import pytest

from trainer.preview.token_texts import token_texts
from trainer.tests import tiny
from trainer.tests.export_fixture import sentencepiece_tokenizer

TEXTS = ["Björn", "中", "🙂", "中文, Björn 🙂🙂!", "a\ufffdb", "Zoë\nø", "e\u0301"]


@pytest.fixture(scope="module", params=["byte-level", "llama", "gemma2"])
def tokenizer(request, tmp_path_factory):
    if request.param == "byte-level":
        return tiny.build_tokenizer(600)
    return sentencepiece_tokenizer(tmp_path_factory.mktemp("tokenizer"), request.param)


@pytest.mark.parametrize("text", TEXTS)
def test_each_character_is_in_one_text(tokenizer, text):
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    texts = token_texts(tokenizer, ids)
    assert "".join(one.text for one in texts) == tokenizer.decode(ids)
    assert [one.text for one in texts if "\ufffd" in one.text] == (["\ufffd"] if "\ufffd" in text else [])
    for char in set(text) - {"\ufffd"}:
        assert any(char in one.text for one in texts)
    # Adjacent characters of several tokens each are not one.
    if text == TEXTS[3]:
        assert {"中", "文"} <= {one.text for one in texts}


def test_the_bytes_of_a_split_character_are_told(tokenizer):
    ids = tokenizer("🙂", add_special_tokens=False)["input_ids"]
    *before, first, second, third, last = token_texts(tokenizer, ids)
    assert (first.text.strip(), first.joined) == ("🙂", False)
    assert [(one.text, one.joined) for one in (second, third, last)] == [("", True)] * 3
    assert [one.held for one in (first, second, third, last)] == [bytes([byte]) for byte in "🙂".encode()]
    assert all(one.held is None for one in before)


def test_words_have_the_space_before_them(tokenizer):
    ids = tokenizer("my parcel has not come", add_special_tokens=False)["input_ids"]
    assert any(one.text.startswith(" ") for one in token_texts(tokenizer, ids))


def test_a_character_that_is_cut_off_ends_the_row(tokenizer):
    ids = tokenizer("🙂", add_special_tokens=False)["input_ids"][:-1]
    texts = token_texts(tokenizer, ids)
    assert [one.joined for one in texts[-3:]] == [False, True, True]
