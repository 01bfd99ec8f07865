"""The accelerated provider, as far as it goes without a GPU: what it asks of Unsloth, and what it refuses."""

import dataclasses
import json
import sys

import pytest

from trainer.model.hardware import Hardware
from trainer.protocol.contracts import Settings, read_spec
from trainer.protocol.failures import Failure
from trainer.providers.accelerated import Accelerated, load_arguments, lora_arguments
from trainer.providers.standard import Standard
from trainer.registry import create
from trainer.tests import jobs
from trainer.tests.tiny import build_model, build_tokenizer

GPU = Hardware("cuda", "bfloat16", "bfloat16", True)


@dataclasses.dataclass
class Asked:
    """What the argument builders look at of a job."""

    settings: Settings
    model_dir: str = "/models/one"
    config: dict = dataclasses.field(default_factory=dict)


def asked(**settings):
    value = json.loads(jobs.GOLDEN.read_text())["settings"]
    return Asked(Settings(**{**value, "max_seq_length": 2048, **settings}))


def config_of(kind):
    return build_model(kind, build_tokenizer()).config.to_dict() | {
        "architectures": [type(build_model(kind, build_tokenizer())).__name__]
    }


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3", "mistral"])
def test_it_takes_what_unsloth_has_kernels_for(kind):
    assert Accelerated().refuse(config_of(kind), "causal", asked().settings) is None


@pytest.mark.parametrize(
    ("kind", "family", "name"),
    [
        ("t5", "seq2seq", "T5ForConditionalGeneration"),
        ("bart", "seq2seq", "BartForConditionalGeneration"),
        ("bert", "extractive", "BertForQuestionAnswering"),
        ("gpt2", "causal", "GPT2LMHeadModel"),
    ],
)
def test_it_refuses_other_architectures_by_name(kind, family, name):
    with pytest.raises(Failure) as refused:
        Accelerated().refuse(config_of(kind), family, asked().settings)
    assert refused.value.code == "unsupported" and name in refused.value.message
    assert "standard" in refused.value.advice and "llama" in refused.value.advice
    assert Standard().refuse(config_of(kind), family, asked().settings) is None


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"max_seq_length": -1}, "max_seq_length"),
        ({"device": "cpu"}, "device is cpu"),
        ({"target_experts": True}, "target_experts"),
    ],
)
def test_it_refuses_what_it_cannot_do(settings, word):
    with pytest.raises(Failure, match=word):
        Accelerated().refuse({"model_type": "llama"}, "causal", asked(**settings).settings)


def test_what_unsloth_is_asked_to_load():
    import torch

    said = load_arguments(asked(use_4bit=True, seed=5), GPU)
    assert said["model_name"] == "/models/one" and said["use_exact_model_name"] and said["local_files_only"]
    assert said["max_seq_length"] == 2048 and said["dtype"] is torch.bfloat16
    assert (said["load_in_4bit"], said["load_in_8bit"], said["load_in_16bit"]) == (True, False, False)
    assert said["use_gradient_checkpointing"] == "unsloth" and said["random_state"] == 5
    assert said["trust_remote_code"] is False
    whole = load_arguments(asked(), dataclasses.replace(GPU, gradient_checkpointing=False))
    assert (whole["load_in_4bit"], whole["load_in_16bit"]) == (False, True)
    assert whole["use_gradient_checkpointing"] is False


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("llama", ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]),
        ("qwen3", ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]),
        ("gpt2", ["c_attn", "c_fc", "c_proj"]),
    ],
)
def test_target_modules_are_found_when_left_out(kind, expected):
    model = build_model(kind, build_tokenizer())
    said = lora_arguments(asked(lora_r=7, lora_dropout=0.1, device="cpu"), model)
    assert not said["use_rslora"]
    assert lora_arguments(asked(adapter="rslora", device="cpu"), model)["use_rslora"]
    assert said["target_modules"] == expected
    assert (said["r"], said["lora_alpha"], said["lora_dropout"], said["bias"]) == (7, 32, 0.1, "none")
    given = lora_arguments(asked(target_modules=[expected[0]], device="cpu"), model)
    assert given["target_modules"] == [expected[0]]
    with pytest.raises(Failure, match="zeta"):
        lora_arguments(asked(target_modules=["zeta"], device="cpu"), model)


def test_where_it_cannot_run_it_says_why_and_imports_nothing(models, tmp_path):
    available, reason = create("provider", "accelerated").availability()
    if available:
        # A machine with a GPU and Unsloth: then the job below would train.
        return
    top = {"provider": "accelerated"}
    spec = jobs.make(tmp_path, models("llama"), top=top, max_seq_length=64, device="auto")
    assert jobs.train(spec) == 1
    line = jobs.journal(spec)[-1]
    assert (line["code"], line["message"]) == ("unsupported", reason) and "standard" in line["advice"]
    assert "unsloth" not in sys.modules
    assert read_spec(spec).provider == "accelerated"
