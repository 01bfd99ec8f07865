"""The class of a tokenizer and the rules of its tokenizer.json."""

import copy
import json

import pytest
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast, Qwen2Tokenizer

from trainer.model.tokenizer import adds_bos, load_tokenizer, load_with_class
from trainer.tests import tiny
from trainer.tests.architectures import toys

TEXT = "Parcel 226 of 2024."


def with_rules(folder, **rules):
    """The toy's folder with these rules in its tokenizer.json."""
    base = toys.build("qwen2", folder)
    document = json.loads((base / "tokenizer.json").read_text("utf-8"))
    (base / "tokenizer.json").write_text(json.dumps(document | rules), "utf-8")
    return base


def test_the_rules_of_the_file_win_over_those_of_the_class(tmp_path):
    base = toys.build("qwen2", tmp_path / "base")
    tokenizer = load_with_class(base)
    assert not isinstance(tokenizer, Qwen2Tokenizer)
    assert tokenizer(TEXT).input_ids == load_tokenizer(base)(TEXT).input_ids


@pytest.mark.parametrize("trim_offsets", [False, True])
def test_a_class_with_the_same_rules_is_kept(tmp_path, trim_offsets):
    own = json.loads(Qwen2Tokenizer().backend_tokenizer.to_str())
    own["pre_tokenizer"]["pretokenizers"][1]["trim_offsets"] = trim_offsets
    base = with_rules(tmp_path / "base", normalizer=own["normalizer"], pre_tokenizer=own["pre_tokenizer"])
    tokenizer = load_with_class(base)
    assert isinstance(tokenizer, Qwen2Tokenizer)
    assert tokenizer(TEXT).input_ids == load_tokenizer(base)(TEXT).input_ids


def test_a_tokenizer_is_as_transformers_loads_it_and_can_be_copied(tmp_path):
    base = toys.build("qwen2", tmp_path / "base")
    loaded = load_tokenizer(base)
    plain = PreTrainedTokenizerFast.from_pretrained(base)
    assert loaded.backend_tokenizer.to_str() == plain.backend_tokenizer.to_str()
    assert loaded.init_kwargs == plain.init_kwargs
    copied = copy.deepcopy(loaded)
    copied.add_tokens(["a-new-token"])
    assert "a-new-token" not in loaded.get_vocab()


def test_a_tokenizer_adds_its_beginning_token_or_has_none():
    tokenizer = tiny.build_tokenizer()
    tokenizer.bos_token = tokenizer.eos_token
    assert not adds_bos(tokenizer)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", tokenizer.bos_token_id)]
    )
    assert adds_bos(tokenizer)
    tokenizer.bos_token = None
    assert not adds_bos(tokenizer)
