"""What a loader sees of a model: files of its folder alone, and a configuration that names none."""

import json
import os

import pytest
from transformers import AutoConfig

from trainer.model import check
from trainer.model.reduced import model_config, tokenizer_config
from trainer.model.unread import with_read_names
from trainer.model.view import INDEX, make_view
from trainer.protocol.failures import Failure

# What published models have, by family, with values of theirs.
PUBLISHED = {
    "llama": {
        "add_bos_token": True,
        "added_tokens_decoder": {"0": {"content": "<unk>", "lstrip": False, "special": True}},
        "bos_token": {"__type": "AddedToken", "content": "<s>", "normalized": True},
        "chat_template": "{{ messages }}",
        "clean_up_tokenization_spaces": False,
        "legacy": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": 1000000000000000019884624838656,
        "pad_token": None,
        "padding_side": "right",
        "tokenizer_class": "LlamaTokenizer",
    },
    "qwen": {
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
    },
    "gemma": {
        "boi_token": "<start_of_image>",
        "extra_special_tokens": {"image_token": "<image_soft_token>"},
        "spaces_between_special_tokens": False,
        "tokenizer_class": "GemmaTokenizerFast",
    },
    "t5": {"additional_special_tokens": ["<extra_id_0>", "</s>"], "extra_ids": 100},
    "bert": {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True},
    "mbart": {"src_lang": "en_XX", "tgt_lang": None},
    "command-r": {"chat_template": [{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}]},
}

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}

HOSTILE = {
    "vocab": "/proc/self/environ",
    "merges": "/etc/passwd",
    "vocab_file": "/etc/passwd",
    "merges_file": "/etc/passwd",
    "tokenizer_file": "/etc/passwd",
    "special_tokens_map_file": "/etc/passwd",
    "normalizer_file": "/etc/passwd",
    "spm_file": "/etc/passwd",
    "gguf_file": "/etc/passwd",
    "fast_tokenizer_files": ["tokenizer.4.0.0.json"],
    "init_inputs": ["/etc/passwd"],
    "name_or_path": "/etc",
    "auto_map": {"AutoTokenizer": ["own.Own", None]},
    "sp_model_kwargs": {"model_file": "/etc/passwd"},
    "sudachi_config_path": "/etc/passwd",
    "tokenizer_class": "PeftModel",
    "model_max_length": {"vocab": "/etc/passwd"},
    "errors": "/etc/passwd",
    "bos_token": {"content": "<s>", "vocab_file": "/etc/passwd"},
    "extra_special_tokens": [{"vocab": "/etc/passwd"}, "<a>"],
    "added_tokens_decoder": {"0": {"content": "<s>", "vocab_file": "/etc/passwd"}, "x": {"content": "b"}},
    "chat_template": {"vocab": "/etc/passwd"},
    "model_input_names": ["/etc/passwd"],
}


@pytest.mark.parametrize("family", PUBLISHED)
def test_the_tokenizer_configurations_of_published_models_stay(family):
    assert tokenizer_config(PUBLISHED[family]) == PUBLISHED[family]


def test_a_tokenizer_configuration_names_no_file():
    reduced = tokenizer_config(HOSTILE)
    assert reduced == {
        "bos_token": {"content": "<s>"},
        "extra_special_tokens": ["<a>"],
        "added_tokens_decoder": {"0": {"content": "<s>"}},
        "model_input_names": [],
    }
    for odd in (None, [], "text", 7):
        assert tokenizer_config(odd) == {}


def test_a_configuration_names_no_file():
    kept = {
        "architectures": ["LlamaForCausalLM"],
        "id2label": {"0": "N/A"},
        "rope_scaling": {"rope_type": "llama3", "factor": 8.0},
        "quantization_config": {"quant_method": "bitsandbytes", "llm_int8_skip_modules": ["a/b"]},
        "vocab_size": 7,
    }
    hostile = {
        "_name_or_path": "meta-llama/x",
        "transformers_weights": "other.safetensors",
        "_attn_implementation": "kernels-community",
        "backbone": "../../secret",
        "own": "C:\\secret",
    }
    nested = {**kept, **hostile, "text_config": {**kept, **hostile}}
    assert model_config(nested) == {**kept, "text_config": kept}


def files_of(folder, **contents):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name.replace("__", ".")).write_text(text)
    return folder


@pytest.fixture
def model(tmp_path):
    return files_of(
        tmp_path / "model",
        config__json={**CONFIG, "transformers_weights": "x"},
        tokenizer__json={"added_tokens": []},
        tokenizer_config__json=HOSTILE,
        special_tokens_map__json={"vocab": "/etc/passwd", "eos_token": "</s>"},
        model__safetensors="weights",
        adapter_config__json={"base_model_name_or_path": "/etc"},
        preprocessor_config__json={"vocab": "/etc/passwd"},
        processor_config__json={"vocab": "/etc/passwd"},
        own__py="raise SystemExit",
        pytorch_model__bin="pickle",
        notes__md="mine",
    )


def test_a_view_has_what_a_loader_may_open_and_nothing_else(model, tmp_path):
    files_of(model / "additional_chat_templates", rag__jinja="{{ messages }}")
    view = make_view(model, tmp_path / "view")
    names = {
        *("config.json", "model.safetensors", "special_tokens_map.json"),
        *("tokenizer.json", "tokenizer_config.json"),
    }
    assert {path.name for path in view.iterdir()} == names
    assert json.loads((view / "special_tokens_map.json").read_text()) == {"eos_token": "</s>"}
    assert json.loads((view / "config.json").read_text()) == CONFIG
    text = "".join((view / name).read_text() for name in names)
    assert "passwd" not in text and "environ" not in text
    # Of further templates, that for tools.
    files_of(model / "additional_chat_templates", tool_use__jinja="{{ tools }}")
    (template,) = (make_view(model, view) / "additional_chat_templates").iterdir()
    assert template.read_text() == "{{ tools }}"
    # A resumed job makes it anew.
    (model / "tokenizer_config.json").unlink()
    assert not (make_view(model, view) / "tokenizer_config.json").exists()


def test_a_view_has_what_transformers_would_not_read(model, tmp_path):
    """MiniMax-M2 rotates a part of its heads."""
    config = {"model_type": "minimax_m2", "head_dim": 128, "rotary_dim": 64, "rope_theta": 5000000}
    (model / "config.json").write_text(json.dumps(config))
    view = make_view(model, tmp_path / "view")
    rotation = AutoConfig.from_pretrained(view).rope_parameters
    assert rotation == {"rope_type": "default", "rope_theta": 5000000, "partial_rotary_factor": 0.5}


@pytest.mark.parametrize(
    "config",
    [
        # It says so itself.
        {"head_dim": 128, "rotary_dim": 64, "partial_rotary_factor": 0.25},
        {"head_dim": 128, "rotary_dim": 64, "rope_parameters": {"partial_rotary_factor": 1.0}},
        # All of a head is rotated; a class that reads the field (GPT-J).
        {"head_dim": 64, "rotary_dim": 64},
        {"n_head": 16, "n_embd": 4096, "rotary_dim": 64},
    ],
)
def test_nothing_is_added_to_other_configurations(config):
    assert with_read_names(config) == config


def test_the_text_part_is_read_too():
    text = {"head_dim": 128, "rotary_dim": 64}
    assert with_read_names({"text_config": text}) == {"text_config": {**text, "partial_rotary_factor": 0.5}}


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "vocab.txt", "model.safetensors", INDEX])
def test_a_link_out_of_the_model_s_folder_is_refused(model, tmp_path, name):
    (tmp_path / "secret").write_text('{"token": "canary"}')
    (model / name).unlink(missing_ok=True)
    (model / name).symlink_to("../secret")
    with pytest.raises(Failure) as refused:
        make_view(model, tmp_path / "view")
    assert refused.value.code == "bad_model" and name in refused.value.message
    if name == "config.json":
        with pytest.raises(Failure, match="leads out"):
            check.read_config(model, "owner/name")


def test_what_is_no_file_is_refused(model, tmp_path):
    os.mkfifo(model / "tokenizer.model")
    with pytest.raises(Failure, match="is not a file"):
        make_view(model, tmp_path / "view")


def test_a_link_within_the_model_s_folder_and_a_linked_folder_are_followed(model, tmp_path):
    (model / "tokenizer.json").rename(model / "tokenizer-1.json")
    (model / "tokenizer.json").symlink_to("tokenizer-1.json")
    (tmp_path / "link").symlink_to(model)
    view = make_view(tmp_path / "link", tmp_path / "view")
    assert (view / "tokenizer.json").resolve() == (model / "tokenizer-1.json").resolve()


def test_the_hub_cache_s_links_to_its_blobs_are_followed(tmp_path):
    hub = tmp_path / "hub"
    snapshot = hub / "models--owner--name" / "snapshots" / "0123"
    files_of(snapshot, config__json={})
    for name, place in {
        "tokenizer.json": hub / "models--owner--name" / "blobs",
        "model.safetensors": hub / "blobs" / "ab",
    }.items():
        files_of(place, blob="content")
        (snapshot / name).symlink_to(os.path.relpath(place / "blob", snapshot))
    view = make_view(snapshot, tmp_path / "view")
    assert (view / "tokenizer.json").read_text() == (view / "model.safetensors").read_text() == "content"
    # Those of another model are not this one's, and a folder elsewhere has no blobs.
    files_of(hub / "models--owner--private" / "blobs", blob="content")
    (snapshot / "vocab.txt").symlink_to("../../../models--owner--private/blobs/blob")
    with pytest.raises(Failure, match=r"vocab\.txt"):
        make_view(snapshot, tmp_path / "view")
    copy = (hub / "models--owner--name").rename(hub / "mine") / "snapshots" / "0123"
    with pytest.raises(Failure):
        make_view(copy, tmp_path / "view")


@pytest.mark.parametrize(
    "name", ["../secret.safetensors", "/secret.safetensors", "..\\a.safetensors", "x.bin", 7]
)
def test_an_index_of_weights_names_files_beside_it(model, tmp_path, name):
    (model / INDEX).write_text(json.dumps({"weight_map": {"a": name}}))
    for refuse in (lambda: make_view(model, tmp_path / "view"), lambda: check.check_weights(model, "x")):
        with pytest.raises(Failure) as refused:
            refuse()
        assert refused.value.code == "bad_model" and INDEX in refused.value.message


def test_a_tokenizer_is_one_file(model):
    (model / "tokenizer_config.json").unlink()
    assert check.read_config(model, "owner/name") == CONFIG
    (model / "tokenizer.json").unlink()
    files_of(model, vocab__txt="a", vocab__json={}, merges__txt="")
    with pytest.raises(Failure) as refused:
        check.read_config(model, "owner/name")
    assert refused.value.code == "bad_tokenizer" and "tokenizer.json" in refused.value.advice
    files_of(model, spiece__model="proto")
    check.read_config(model, "owner/name")
