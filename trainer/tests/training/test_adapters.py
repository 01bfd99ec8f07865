"""The kinds of adapters: each trains with every strategy and family, resumes, and is what PEFT makes."""

import json

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from trainer.tests import export_fixture, jobs
from trainer.tests.architectures import toys, whole_models
from trainer.tests.plain import stock
from trainer.tests.tiny import sentences
from trainer.tests.training.test_matrix import ALIKE, rated, rows_of
from trainer.tests.training.test_run import copy, forget_after

TRAINED = [
    ("full", "text-generation", "sft", "qwen3"),
    ("dora", "text-generation", "qlora", "qwen3"),
    ("dora", "text-generation", "dpo", "gemma3"),
    ("rslora", "text-generation", "grpo", "llama"),
]
OTHERS = [
    ("full", "text-generation", "sft", "gemma3"),
    ("full", "text-generation", "sft", "gpt2"),
    ("full", "summarization", "sft", "t5"),
    ("full", "extractive-question-answering", "sft", "bert"),
    ("dora", "text-generation", "sft", "gpt2"),
    ("dora", "text-generation", "rlhf", "llama"),
    ("dora", "text-generation", "kto", "qwen3"),
    ("rslora", "text-generation", "kto", "llama"),
    ("dora", "text-generation", "grpo", "qwen3"),
    ("dora", "summarization", "sft", "t5"),
    ("dora", "extractive-question-answering", "sft", "bert"),
    ("rslora", "text-generation", "qlora", "llama"),
    ("rslora", "text-generation", "dpo", "llama"),
    ("rslora", "text-generation", "rlhf", "qwen3"),
    ("rslora", "summarization", "sft", "t5"),
    ("rslora", "extractive-question-answering", "sft", "bert"),
]
LONG = pytest.mark.long


def rows_for(task, strategy):
    if strategy in ("dpo", "rlhf"):
        return [{"prompt": text, "chosen": reply, "rejected": "no"} for text, reply in sentences(24)]
    if strategy == "grpo":
        return [{"prompt": text, "reply": reply} for text, reply in sentences(24)]
    if strategy == "kto":
        return rated(24)
    return rows_of(task)


@pytest.mark.parametrize(
    ("adapter", "task", "strategy", "kind"), [*TRAINED, *(pytest.param(*each, marks=LONG) for each in OTHERS)]
)
def test_every_kind_trains(models, tmp_path, adapter, task, strategy, kind):
    spec = jobs.make(
        tmp_path,
        models(kind),
        rows_for(task, strategy),
        top={"task": task, "strategy": strategy},
        adapter=adapter,
        max_steps=2,
        eval_split=0.25,
        eval_steps=2,
        graders=[{"grader": ALIKE}] if strategy == "grpo" else None,
        max_answer_tokens=16,
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert jobs.journal(spec, "eval")[-1]["step"] == 2
    if adapter == "full":
        assert not (tmp_path / "artifacts" / "adapter" / "adapter_config.json").exists()
        return
    config = json.loads((tmp_path / "artifacts" / "adapter" / "adapter_config.json").read_text())
    assert (config["use_dora"], config["use_rslora"]) == (adapter == "dora", adapter == "rslora")


EQUAL = [("dora", "llama"), ("rslora", "llama"), ("full", "llama"), ("full", "qwen3")]


@pytest.mark.parametrize(("adapter", "kind"), [*EQUAL, pytest.param("full", "gemma3", marks=LONG)])
def test_eight_steps_are_those_of_a_plain_script(models, tmp_path, adapter, kind):
    base = models(kind)
    whole = adapter == "full"
    rows = [{"input": text * (1 + at % 3), "output": reply} for at, (text, reply) in enumerate(sentences(64))]
    same = {
        "max_steps": 8,
        "learning_rate": 5e-4 if whole else 5e-3,
        "seed": 11,
        "per_device_train_batch_size": 8,
    }
    ways = {"lora_r": 16, "lora_alpha": 32, "warmup_ratio": 0, "lr_scheduler_type": "linear"}
    spec = jobs.make(tmp_path / "ours", base, rows, adapter=adapter, **same, **ways)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    folder = tmp_path / "ours" / "artifacts" / "adapter"
    targets = None if whole else json.loads((folder / "adapter_config.json").read_text())["target_modules"]
    precision = {"bf16": False, "gradient_checkpointing": False, "use_cpu": True}
    options = {f"use_{adapter}": True}
    theirs = stock(base, rows, tmp_path / "stock", targets, kind=options, **same, **precision)
    assert [*jobs.losses(spec).values()] == pytest.approx([loss for loss, _ in theirs], rel=1e-4)
    file = "model.safetensors" if whole else "adapter_model.safetensors"
    ours, wanted = load_file(folder / file), load_file(tmp_path / "stock" / "adapter" / file)
    assert ours.keys() == wanted.keys()
    assert any("magnitude" in name for name in ours) == (adapter == "dora")
    for name, tensor in wanted.items():
        torch.testing.assert_close(ours[name], tensor, rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.parametrize("adapter", ["dora", "full"])
def test_it_resumes_exactly(models, tmp_path, adapter):
    settings = {"adapter": adapter, "max_steps": 6, "save_steps": 3, "lora_dropout": 0.1}
    spec = jobs.make(tmp_path / "whole", models("llama"), **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    again = copy(spec, tmp_path / "again")
    forget_after(again, 3)
    before = len(jobs.journal(again))
    assert jobs.train(again) == 0
    told = [line for line in jobs.journal(again)[before:] if line["type"] == "metric"]
    assert {line["step"]: line["loss"] for line in told} == {
        at: loss for at, loss in jobs.losses(spec).items() if at > 3
    }


def test_experts_have_no_magnitudes_and_that_is_said_before_training(tmp_path):
    base = toys.build("mixtral", tmp_path / "model")
    spec = jobs.make(tmp_path / "job", base, adapter="dora", target_experts=True, max_steps=1)
    assert jobs.train(spec) == 1
    last = jobs.journal(spec)[-1]
    assert last["code"] == "unsupported" and "DoRA" in last["message"] and "rslora" in last["advice"]
    assert not jobs.journal(spec, "metric")


@pytest.mark.parametrize(
    ("kind", "make"),
    [("gemma3-vision", whole_models.build), pytest.param("mixtral", toys.build, marks=LONG)],
)
def test_all_weights_of_renamed_and_joined_tensors_resume_and_become_a_gguf(tmp_path, kind, make):
    spec = jobs.make(
        tmp_path / "job",
        make(kind, tmp_path / "model"),
        top={"export": {"quantizations": ["F32"], "required": True}, "tools": export_fixture.TOOLS},
        **{"adapter": "full", "learning_rate": 1e-3, "max_steps": 4, "save_steps": 2},
    )
    assert jobs.forked(spec) == 0, jobs.journal(spec)[-1]
    (done,) = jobs.journal(spec, "done")
    assert done["verification"]["passed"] and done["verification"]["max_logprob_difference"] < 5e-3
    assert done["verification"]["difference_from_base"] > 0.1
    assert done["metrics"]["general/base_loss"] != done["metrics"]["general/loss"]
    again = copy(spec, tmp_path / "again")
    forget_after(again, 2)
    assert jobs.forked(again) == 0
    first, second = (
        AutoModelForCausalLM.from_pretrained(each.parent / "artifacts" / "adapter").state_dict()
        for each in (spec, again)
    )
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


def test_weights_that_transformers_saves_otherwise_are_refused_before_training(tmp_path):
    spec = jobs.make(
        tmp_path / "job",
        toys.build("kimi-linear", tmp_path / "model"),
        top={"export": {"quantizations": ["F16"], "required": True}, "tools": export_fixture.TOOLS},
        adapter="full",
        max_steps=1,
    )
    assert jobs.forked(spec) == 1
    last = jobs.journal(spec)[-1]
    assert last["code"] == "unsupported" and "adapter to lora" in last["advice"], last
    assert not jobs.journal(spec, "metric")


@pytest.mark.parametrize("strategy", ["dpo", "grpo", "rlhf"])
def test_strategies_with_a_reference_train_adapters(models, tmp_path, strategy):
    spec = jobs.make(
        tmp_path,
        models("llama"),
        rows_for("text-generation", strategy),
        top={"strategy": strategy},
        adapter="full",
        graders=[{"grader": ALIKE}] if strategy == "grpo" else None,
    )
    assert jobs.train(spec) == 1
    assert jobs.journal(spec)[-1]["code"] == "unsupported", jobs.journal(spec)[-1]
    assert not jobs.journal(spec, "metric")
