"""Configurations and folders as people have them: what is refused before the weights are read, and why."""

import json
import shutil

import pytest
from safetensors.torch import load_file, save_file

from trainer.model import check, view
from trainer.protocol.failures import Failure
from trainer.tests import jobs

# Of published models whose class transformers has, although they name code.
NATIVE = {
    "Phi-4-mini": {
        "architectures": ["Phi3ForCausalLM"],
        "model_type": "phi3",
        "auto_map": {
            "AutoConfig": "configuration_phi3.Phi3Config",
            "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM",
            "AutoTokenizer": "Xenova/gpt-4o",
        },
    },
    "Phi-3.5-MoE": {
        "architectures": ["PhiMoEForCausalLM"],
        "model_type": "phimoe",
        "auto_map": {"AutoModelForCausalLM": "modeling_phimoe.PhiMoEForCausalLM"},
    },
    "DeepSeek-V3": {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "auto_map": {"AutoModelForCausalLM": "modeling_deepseek.DeepseekV3ForCausalLM"},
    },
    "MPT": {
        "architectures": ["MPTForCausalLM"],
        "model_type": "mpt",
        "auto_map": {"AutoModelForCausalLM": "modeling_mpt.MPTForCausalLM"},
    },
    "old Llama": {"architectures": ["LLaMAForCausalLM"], "model_type": "llama"},
}

FOREIGN = {
    "InternLM 2": {
        "architectures": ["InternLM2ForCausalLM"],
        "model_type": "internlm2",
        "auto_map": {"AutoModelForCausalLM": "modeling_internlm2.InternLM2ForCausalLM"},
    },
    "a changed Llama": {
        "architectures": ["LlamaMoEForCausalLM"],
        "model_type": "llama",
        "auto_map": {"AutoModelForCausalLM": "modeling.LlamaMoEForCausalLM"},
    },
}


SEVERAL = [{"name": "rag", "template": "other"}]


def folder_of(tmp_path, config):
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize("name", NATIVE)
def test_what_transformers_has_needs_no_code(tmp_path, name):
    assert "auto_map" not in check.read_config(folder_of(tmp_path, NATIVE[name]), name)


@pytest.mark.parametrize("name", FOREIGN)
def test_what_transformers_does_not_have_needs_code(tmp_path, name):
    with pytest.raises(Failure, match=r"custom Python code \(auto_map in config.json\)"):
        check.read_config(folder_of(tmp_path, FOREIGN[name]), name)


@pytest.mark.parametrize("kind", ["own", None])
def test_a_type_that_transformers_does_not_have_is_named(tmp_path, kind):
    config = {"architectures": ["OwnForCausalLM"], "model_type": kind}
    with pytest.raises(Failure, match=rf"no language model of the type {kind} \(OwnForCausalLM\)"):
        check.read_config(folder_of(tmp_path, config), "own")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["consolidated.safetensors"], "only as consolidated.safetensors, in Mistral's own format"),
        (
            ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
            "2 weight files and no ",
        ),
        (["adapter_config.json", "adapter_model.safetensors"], "is an adapter (LoRA), not a model"),
        (["weights.safetensors"], "has its weights in weights.safetensors"),
        (["pytorch_model.bin"], "no weights as safetensors. It has pytorch_model.bin, a pickle file"),
    ],
)
def test_weights_in_another_place_are_named(tmp_path, files, words):
    for file in files:
        (tmp_path / file).write_bytes(b"")
    with pytest.raises(Failure) as refused:
        check.check_weights(tmp_path, "owner/name")
    assert refused.value.code == "bad_model" and words in refused.value.message


def test_a_second_copy_of_the_weights_and_an_adapter_are_left_alone(models, tmp_path):
    model = shutil.copytree(models("llama"), tmp_path / "model")
    tensors = load_file(model / "model.safetensors")
    save_file({f"own.{name}": value for name, value in tensors.items()}, model / "consolidated.safetensors")
    save_file({"lora": tensors["lm_head.weight"]}, model / "adapter_model.safetensors")
    (model / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    spec = jobs.make(tmp_path / "job", model, max_steps=1)
    assert jobs.train(spec) == 0
    assert [path.name for path in (tmp_path / "job" / "model").glob("*.safetensors")] == ["model.safetensors"]
    assert [line["code"] for line in jobs.journal(spec, "warning")] == ["adapter_beside"]


@pytest.mark.parametrize("content", ["own", [*SEVERAL, {"name": "default", "template": "own"}]])
def test_the_template_of_a_processor_is_read(models, tmp_path, content):
    from transformers import AutoTokenizer

    model = shutil.copytree(models("llama"), tmp_path / "model")
    (model / "chat_template.json").write_text(json.dumps({"chat_template": content}))
    assert AutoTokenizer.from_pretrained(view.make_view(model, tmp_path / "view")).chat_template == "own"


def test_the_template_of_a_tokenizer_comes_first(models, tmp_path):
    from transformers import AutoTokenizer

    model = shutil.copytree(models("llama", "chatml"), tmp_path / "model")
    (model / "chat_template.json").write_text(json.dumps({"chat_template": "own"}))
    assert (
        "<|im_start|>"
        in AutoTokenizer.from_pretrained(view.make_view(model, tmp_path / "view")).chat_template
    )
