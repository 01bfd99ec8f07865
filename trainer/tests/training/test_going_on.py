"""Going on from the adapter of an earlier run is what PEFT does with it, and begins where that run ended."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from trainer.protocol.contracts import PARENT
from trainer.tests import jobs
from trainer.tests.plain import stock
from trainer.tests.tiny import sentences
from trainer.tests.training.test_accumulation import QUESTIONS, rows_of
from trainer.tests.training.test_run import copy, forget_after

SAME = {"seed": 11, "per_device_train_batch_size": 8, "learning_rate": 5e-3}
WAYS = {"lora_r": 16, "lora_alpha": 32, "warmup_ratio": 0, "lr_scheduler_type": "linear"}
PRECISION = {"bf16": False, "gradient_checkpointing": False, "use_cpu": True}


def going_on(folder, base, parent, rows=None, top=None, **settings):
    """The specification of a job that goes on from the adapter of the job in the folder `parent`."""
    how = {"model_id": "0f0e", "name": "first", "step": None, "how": "adapter", "why": None}
    model = {"name": "tests/tiny", "path": str(base), "parent": how}
    spec = jobs.make(folder, base, rows, top={**(top or {}), "model": model}, **settings)
    start = folder / PARENT
    start.parent.mkdir()
    shutil.copyfile(parent / "artifacts" / "adapter" / "adapter_model.safetensors", start)
    return spec


def rows(count, first=0):
    return [
        {"input": text * (1 + at % 3), "output": reply}
        for at, (text, reply) in enumerate(sentences(count + first))
    ][first:]


@pytest.mark.parametrize(
    ("kind", "adapter"),
    [("llama", "lora"), ("qwen3", "lora"), ("gemma3", "lora"), ("llama", "dora"), ("llama", "rslora")],
)
def test_six_steps_are_those_of_a_plain_script_that_goes_on(models, tmp_path, kind, adapter):
    base, ways = models(kind), {**WAYS, "adapter": adapter}
    first = jobs.make(tmp_path / "first", base, rows(64), max_steps=4, **SAME, **ways)
    assert jobs.train(first) == 0, jobs.journal(first)[-1]
    spec = going_on(tmp_path / "second", base, first.parent, rows(48, 64), max_steps=6, **SAME, **ways)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    parent = first.parent / "artifacts" / "adapter"
    theirs = stock(base, rows(48, 64), tmp_path / "stock", start=parent, max_steps=6, **SAME, **PRECISION)
    assert [*jobs.losses(spec).values()] == pytest.approx([loss for loss, _ in theirs], rel=1e-4)
    file = "adapter_model.safetensors"
    ours = load_file(spec.parent / "artifacts" / "adapter" / file)
    wanted, before = load_file(tmp_path / "stock" / "adapter" / file), load_file(parent / file)
    assert ours.keys() == wanted.keys() == before.keys()
    assert all(not torch.equal(ours[name], before[name]) for name in ours if "lora_B" in name)
    for name, tensor in wanted.items():
        torch.testing.assert_close(ours[name], tensor, rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.parametrize(
    ("kind", "task", "metric"),
    [
        ("llama", "text-generation", "eval_loss"),
        ("t5", "summarization", "eval_loss"),
        ("bert", QUESTIONS, "f1"),
    ],
)
def test_it_begins_where_the_parent_ended_and_tells_both_figures(models, tmp_path, kind, task, metric):
    made, held = rows_of(task, "sft", 24), rows_of(task, "sft", 8)
    same = {"top": {"task": task}, "validation": held, "learning_rate": 1e-3, "eval_steps": 100}
    first = jobs.make(tmp_path / "first", models(kind), made, max_steps=6, **same)
    assert jobs.train(first) == 0, jobs.journal(first)[-1]
    spec = going_on(tmp_path / "second", models(kind), first.parent, made, max_steps=2, **same)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    base, *_, ended = [line["metrics"] for line in jobs.journal(first, "eval")]
    told = [line for line in jobs.journal(spec, "eval") if line["step"] == 0]
    assert len(told) == 1
    figures = told[0]["metrics"]
    assert figures[metric] == pytest.approx(base[metric], rel=1e-5)
    assert figures[f"parent/{metric}"] == pytest.approx(ended[metric], rel=1e-4, abs=1e-6)
    assert figures["eval_loss"] != pytest.approx(figures["parent/eval_loss"], rel=1e-3)
    prompts = [line["prompt"] for line in jobs.journal(spec, "sample") if line["step"] == 0]
    assert len(prompts) == len(set(prompts)) > 0
    assert (
        json.loads((spec.parent / "trained.json").read_text())["metrics"]
        .keys()
        .isdisjoint(name for name in figures if name.startswith("parent/"))
    )


def test_it_resumes_exactly(models, tmp_path):
    first = jobs.make(tmp_path / "first", models("llama"), max_steps=3)
    assert jobs.train(first) == 0
    settings = {"max_steps": 6, "save_steps": 3, "lora_dropout": 0.1}
    spec = going_on(tmp_path / "whole", models("llama"), first.parent, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    again = copy(spec, tmp_path / "again")
    forget_after(again, 3)
    before = len(jobs.journal(again))
    assert jobs.train(again) == 0
    told = [line for line in jobs.journal(again)[before:] if line["type"] == "metric"]
    assert {line["step"]: line["loss"] for line in told} == {
        at: loss for at, loss in jobs.losses(spec).items() if at > 3
    }


def test_an_adapter_of_other_layers_or_a_damaged_one_is_refused(models, tmp_path):
    base = models("llama")
    first = jobs.make(tmp_path / "first", base, max_steps=1, target_modules=["q_proj", "v_proj"])
    assert jobs.train(first) == 0
    spec = going_on(tmp_path / "second", base, first.parent, max_steps=1)
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert (failed["type"], failed["code"]) == ("failed", "unsupported")
    assert "is for other layers" in failed["message"]
    third = going_on(tmp_path / "third", base, first.parent, max_steps=1)
    (third.parent / PARENT).write_bytes(b"damaged")
    assert jobs.train(third) == 1
    assert "cannot be read" in jobs.journal(third)[-1]["message"]
