"""HONE_PLAIN=1 turns everything of ours off; without it, what was measured on a device is on there."""

import pytest

from trainer.kernels import allowed, attention, native
from trainer.kernels.install import install, install_linear, installed
from trainer.padding_free.length_groups import describe_layout
from trainer.tests import jobs
from trainer.tests.padding_free.test_padding_free import some_model
from trainer.tests.training.test_accumulation import QUESTIONS, model_without_dropout, rows_of

# Kind, task and strategy.
FAMILIES = {
    "llama": ("llama", "text-generation", "sft"),
    "qwen3": ("qwen3", "text-generation", "sft"),
    "gemma3": ("gemma3", "text-generation", "sft"),
    "gpt2": ("gpt2", "text-generation", "sft"),
    "t5": ("t5", "summarization", "sft"),
    "bart": ("bart", "summarization", "sft"),
    "bert": ("bert", QUESTIONS, "sft"),
    "llama dpo": ("llama", "text-generation", "dpo"),
    "llama rlhf": ("llama", "text-generation", "rlhf"),
}
# One of each way to lay rows out; drawn answers depend on rounding, so rlhf is compared by its reward model.
LONG = ("qwen3", "gpt2", "bart", "llama rlhf")


def our_modules(model):
    """Where the forward passes come from that replace those of the modules of `model`."""
    found = (getattr(vars(module).get("forward"), "__func__", None) for module in model.modules())
    return {function.__module__ for function in found if function is not None}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in FAMILIES]
)
def test_a_plain_run_has_the_losses_of_a_fast_one(models, tmp_path, monkeypatch, capfd, name):
    kind, task, strategy = FAMILIES[name]
    model = model_without_dropout(models(kind), tmp_path / "model")
    losses, said, calls = {}, {}, []
    attend = attention.attend
    monkeypatch.setattr(attention, "attend", lambda *args, **named: calls.append(1) or attend(*args, **named))
    for way, setting in (("fast", "0"), ("plain", "1")):
        monkeypatch.setenv("HONE_PLAIN", setting)
        spec = jobs.make(
            tmp_path / way,
            model,
            rows_of(task, strategy, 24),
            top={"task": task, "strategy": strategy},
            max_steps=4,
            learning_rate=1e-3,
        )
        calls.clear()
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        losses[way], said[way] = jobs.losses(spec), capfd.readouterr().out
    assert not calls
    assert len(losses["fast"]) == 4
    if strategy == "rlhf":
        figures = [line["metrics"] for line in jobs.journal(spec, "eval") if line["step"] == 0]
        assert figures[0]["reward_model_accuracy"] > 0.5
    else:
        assert losses["plain"] == pytest.approx(losses["fast"], rel=1e-4, abs=1e-5)
    assert "trains on padded rows: HONE_PLAIN is set" in said["plain"]
    assert "without Hone's kernels, as HONE_PLAIN is set" in said["plain"]
    assert "HONE_PLAIN" not in said["fast"]


def test_nothing_is_replaced_in_a_plain_run(monkeypatch):
    model = some_model("llama")
    monkeypatch.setenv("HONE_PLAIN", "1")
    install(model, "cpu")
    assert installed(model) == []
    assert our_modules(model) == set()
    assert native.library() is None
    # It is read each time: a warm trainer gets its environment after its imports.
    monkeypatch.delenv("HONE_PLAIN")
    install(model, "cpu")
    assert "trainer.kernels.gated" in our_modules(model)


@pytest.mark.parametrize(("device", "on"), [("cuda", {"logits of learned tokens"}), ("mps", set())])
def test_only_what_was_measured_on_a_device_runs_there(device, on, monkeypatch):
    for part in allowed.MEASURED:
        assert allowed.why_not(part, "cpu") is None
        reason = None if part in on else f"{part} are not used on the device {device}"
        assert allowed.why_not(part, device) == reason
    assert describe_layout(device) == "padded rows"
    monkeypatch.setenv("HONE_PLAIN", "1")
    assert {allowed.why_not(part, device) for part in allowed.MEASURED} == {"HONE_PLAIN is set"}


def test_layers_stay_the_librarys_where_the_model_will_train_on_a_gpu():
    # Its weights are in RAM when layers are replaced.
    model = some_model("llama")
    install(model, "cuda")
    install_linear(model, "cuda")
    assert our_modules(model) == set()
