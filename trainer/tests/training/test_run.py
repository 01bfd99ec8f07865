"""One run through, stops, resumes, torn checkpoints: with a real model and the real library."""

import importlib
import json
import os
import re
import shutil
import signal
import time
from itertools import groupby
from pathlib import Path

import pytest
from safetensors import safe_open

from trainer.tests import jobs

SETTINGS = {
    "num_train_epochs": 2,
    "save_steps": 4,
    "lora_dropout": 0.1,
    "eval_split": 0.25,
    "eval_steps": 5,
    "gradient_accumulation_steps": 1,
}


@pytest.fixture(scope="session")
def whole(models, tmp_path_factory):
    """An uninterrupted run of 12 steps with dropout, evaluation and three checkpoints."""
    spec = jobs.make(
        tmp_path_factory.mktemp("whole"),
        models("llama"),
        top={"tensorboard_dir": str(tmp_path_factory.mktemp("tb"))},
        **SETTINGS,
    )
    assert jobs.train(spec) == 0
    return spec


def copy(spec, folder):
    """The job of `spec` as it lies, moved to `folder`."""
    shutil.copytree(spec.parent, folder, dirs_exist_ok=True)
    text = (folder / "spec.json").read_text().replace(str(spec.parent), str(folder))
    (folder / "spec.json").write_text(text)
    return folder / "spec.json"


def forget_after(spec, step):
    """Makes a finished job one that died after the checkpoint of `step`."""
    (spec.parent / "trained.json").unlink()
    for path in (spec.parent / "checkpoints").glob("checkpoint-*"):
        if int(path.name.split("-")[1]) > step:
            shutil.rmtree(path)


def test_a_run_without_an_export_says_so_and_keeps_what_one_needs(whole):
    (done,) = jobs.journal(whole, "done")
    assert done["export"] == {
        "state": "skipped",
        "code": None,
        "reason": "No GGUF file was asked for.",
        "advice": None,
        "files": [],
    }
    kept = json.loads((whole.parent / "artifacts" / "export.json").read_text())
    assert kept["config"]["model_type"] == "llama" and len(kept["texts"]) == len(kept["tokens"]) > 0
    assert (whole.parent / "artifacts" / "reference.safetensors").is_file()


def test_the_journal_tells_the_whole_run_in_order(whole):
    lines = jobs.journal(whole)
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert lines[0]["type"] == "hello" and lines[0]["resumed_from_step"] is None
    told = [line for line in lines if line["type"] == "phase"]
    phases = [phase for phase, _ in groupby(line["phase"] for line in told)]
    assert phases == ["check", "load", "probe", "train", *["evaluate", "train"] * 4]
    done = lines[-1]
    assert done["type"] == "done" and done["outcome"] == "completed" and done["step"] == 12
    assert set(done["metrics"]) >= {"final_loss", "eval_loss", "perplexity"}


def test_phases_tell_how_far_they_are(whole):
    told: dict[str, list[dict]] = {}
    for line in jobs.journal(whole, "phase"):
        told.setdefault(line["phase"], []).append(line)
    assert any(re.fullmatch(r"model: (\d+) of \1 parts", line["detail"]) for line in told["load"])
    begun = told["probe"][0]
    assert (begun["progress"], begun["detail"]) == (0, "one step with the 4 longest rows")
    rows = {(line["detail"], line["progress"]) for line in told["evaluate"]}
    count = told["evaluate"][0]["detail"].rpartition(" ")[2]
    for model in ("the base model, ", ""):
        ends = [(f"row 0 of {count}", 0), (f"row {count} of {count}", 1), ("answer 0 of 3", 0)]
        assert {(f"{model}{detail}", share) for detail, share in ends} <= rows
    # Those for checkpoints without an evaluation.
    begun = {line["detail"] for line in told["train"] if line["progress"] == 0}
    assert begun == {None, "answer 0 of 3"}


def test_every_step_is_told_once_with_true_numbers(whole):
    metrics = jobs.journal(whole, "metric")
    assert [line["step"] for line in metrics] == list(range(1, 13))
    assert all(line["total_steps"] == 12 and line["total_epochs"] == 2 for line in metrics)
    assert all(len(repr(line["loss"])) > 8 for line in metrics), "losses are rounded"
    assert metrics[-1]["loss"] < metrics[0]["loss"]
    tokens = [line["tokens"] for line in metrics]
    assert tokens == sorted(set(tokens)) and tokens[5] * 2 == tokens[11]


def test_evaluations_and_checkpoints_come_where_they_are_asked_for(whole):
    every = SETTINGS["eval_steps"]
    assert [line["step"] for line in jobs.journal(whole, "eval")] == [0, every, 2 * every, 12]
    assert set(jobs.journal(whole, "eval")[0]["metrics"]) >= {"eval_loss", "perplexity"}
    samples = jobs.journal(whole, "sample")
    assert [line["step"] for line in samples] == [at for at in (0, 4, 5, 8, 10, 12) for _ in range(3)]
    assert {line["prompt"] for line in samples[:3]} == {line["prompt"] for line in samples[3:6]}
    made = [(line["step"], line["reason"]) for line in jobs.journal(whole, "checkpoint")]
    assert made == [(4, "interval"), (8, "interval"), (12, "end")]
    left = sorted(path.name for path in (whole.parent / "checkpoints").iterdir())
    assert left == ["checkpoint-12", "checkpoint-8"], "save_total_limit keeps two"


def test_the_adapter_and_the_template_are_there(whole):
    artifacts = {line["kind"]: line for line in jobs.journal(whole, "artifact")}
    assert set(artifacts) == {"adapter", "template"}
    adapter = whole.parent / artifacts["adapter"]["path"]
    with safe_open(adapter / "adapter_model.safetensors", "pt") as file:
        assert all(file.get_slice(name).get_shape()[0] == 4 for name in file.keys() if "lora_A" in name)  # noqa: SIM118
    config = json.loads((adapter / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "tests/tiny"
    assert (adapter / "tokenizer.json").exists()
    template = json.loads((whole.parent / artifacts["template"]["path"]).read_text())
    assert template["version"] == 1 and template["stop"] == ["</s>"] and template["source"] == "hone"


def test_tensorboard_has_the_losses_and_the_hyper_parameters(whole):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(json.loads(whole.read_text())["tensorboard_dir"])
    events.Reload()
    recorded = {event.step: event.value for event in events.Scalars("train/loss")}
    assert recorded == pytest.approx(jobs.losses(whole), rel=1e-6)
    assert [event.step for event in events.Scalars("eval/eval_loss")] == [0, 5, 10, 12]
    assert "_hparams_/session_start_info" in events.summary_metadata


@pytest.mark.parametrize("step", [4, 8])
def test_a_resumed_run_has_the_losses_of_the_uninterrupted_one_bit_for_bit(whole, tmp_path, step):
    spec = copy(whole, tmp_path)
    (spec.parent / "journal.jsonl").unlink()
    for name in ("checkpoint-8", "checkpoint-12"):
        assert (spec.parent / "checkpoints" / name).exists()
    if step == 4:
        shutil.rmtree(spec.parent / "checkpoints")
        first = json.loads(spec.read_text())
        first["settings"]["save_total_limit"] = 99
        spec.write_text(json.dumps(first))
        (spec.parent / "trained.json").unlink()
        assert jobs.train(spec) == 0
        (spec.parent / "journal.jsonl").unlink()
    forget_after(spec, step)
    assert jobs.train(spec) == 0
    assert jobs.journal(spec, "hello")[0]["resumed_from_step"] == step
    again, before = jobs.losses(spec), jobs.losses(whole)
    assert again == {at: loss for at, loss in before.items() if at > step}
    ends = [jobs.journal(which, "metric")[-1]["tokens"] for which in (spec, whole)]
    assert ends[0] == ends[1]
    evaluations = [
        {e["step"]: e["metrics"]["eval_loss"] for e in jobs.journal(s, "eval")} for s in (spec, whole)
    ]
    assert evaluations[0] == {at: loss for at, loss in evaluations[1].items() if at > step}


def test_a_torn_newest_checkpoint_is_passed_over_and_that_is_said(whole, tmp_path):
    spec = copy(whole, tmp_path)
    forget_after(spec, 12)
    torn = spec.parent / "checkpoints" / "checkpoint-12" / "optimizer.pt"
    torn.write_bytes(torn.read_bytes()[:100])
    (spec.parent / "checkpoints" / "checkpoint-99").mkdir()
    (spec.parent / "checkpoints" / ".aside").mkdir()
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0
    lines = jobs.journal(spec)[before:]
    assert lines[0]["type"] == "hello" and lines[0]["resumed_from_step"] == 8
    told = [line["message"] for line in lines if line.get("code") == "checkpoint_skipped"]
    assert len(told) == 2 and "never finished" in told[0] and "optimizer.pt" in told[1]
    assert jobs.losses(spec) == jobs.losses(whole)


def test_a_run_whose_last_step_was_saved_does_not_train_again(whole, tmp_path):
    spec = copy(whole, tmp_path)
    forget_after(spec, 12)
    shutil.rmtree(spec.parent / "artifacts")
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0
    lines = jobs.journal(spec)[before:]
    assert not [line for line in lines if line["type"] in ("metric", "checkpoint")]
    assert lines[-1]["metrics"] == jobs.journal(whole)[-1]["metrics"]
    name = "artifacts/adapter/adapter_model.safetensors"
    assert (spec.parent / name).read_bytes() == (whole.parent / name).read_bytes()


def test_a_trained_job_is_done_at_once(whole, tmp_path):
    spec = copy(whole, tmp_path)
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0
    assert [line["type"] for line in jobs.journal(spec)[before:]] == ["hello", "done"]


def test_equal_seeds_give_equal_runs_and_other_seeds_others(whole, models, tmp_path):
    same = jobs.make(tmp_path / "same", models("llama"), **SETTINGS)
    other = jobs.make(tmp_path / "other", models("llama"), **{**SETTINGS, "seed": 7})
    assert jobs.train(same) == 0 and jobs.train(other) == 0
    assert jobs.losses(same) == jobs.losses(whole)
    assert jobs.losses(other)[1] != jobs.losses(whole)[1]


def test_measuring_the_base_changes_no_loss(whole, models, tmp_path, monkeypatch):
    from trainer.families import causal

    given = causal.training_arguments
    monkeypatch.setattr(causal, "training_arguments", lambda *args: {**given(*args), "eval_on_start": False})
    spec = jobs.make(tmp_path, models("llama"), **SETTINGS)
    assert jobs.train(spec) == 0
    assert [line["step"] for line in jobs.journal(spec, "eval")] == [5, 10, 12]
    assert jobs.losses(spec) == jobs.losses(whole)


@pytest.mark.parametrize("step", [0, 5])
def test_a_stop_while_answers_are_written_ends_the_run_at_that_step(
    whole, models, tmp_path, monkeypatch, step
):
    from trainer.training import generate

    ask = generate.prompt_ids

    def stop_then_ask(job, prompt):
        if len(jobs.journal(spec, "metric")) == step:
            (tmp_path / "stop").touch()
        return ask(job, prompt)

    monkeypatch.setattr(generate, "prompt_ids", stop_then_ask)
    spec = jobs.make(tmp_path, models("llama"), **SETTINGS)
    assert jobs.train(spec) == 0
    done = jobs.journal(spec)[-1]
    assert (done["type"], done["outcome"], done["step"]) == ("done", "stopped", step)
    assert not (tmp_path / "trained.json").exists()
    assert (tmp_path / "checkpoints" / f"checkpoint-{step}").exists() == (step > 0)
    monkeypatch.undo()
    (tmp_path / "stop").unlink()
    assert jobs.train(spec) == 0
    assert jobs.journal(spec)[-1]["outcome"] == "completed"
    assert jobs.losses(spec) == jobs.losses(whole)
    measured = [line["step"] for line in jobs.journal(spec, "eval")]
    assert measured == ([0, 5, 10, 12] if step == 0 else [0, 10, 12])


def wait_for_step(spec, step):
    while not any(line["step"] >= step for line in jobs.journal(spec, "metric")):
        assert not jobs.journal(spec, "failed"), jobs.journal(spec)[-1]
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["stop", "signal", "kill"])
def test_a_run_that_is_ended_goes_on_to_the_same_losses(models, tmp_path_factory, tmp_path, how, long_run):
    spec = jobs.make(tmp_path, models("llama"), **LONG)
    pid = jobs.fork(spec)
    wait_for_step(spec, 6)
    if how == "stop":
        (spec.parent / "stop").touch()
    else:
        os.kill(pid, signal.SIGTERM if how == "signal" else signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if how == "kill":
        assert code == -signal.SIGKILL and jobs.journal(spec)[-1]["type"] != "done"
    else:
        assert code == 0
        done, saved = jobs.journal(spec, "done")[-1], jobs.journal(spec, "checkpoint")[-1]
        assert done["outcome"] == "stopped" and done["step"] == saved["step"] >= 6
        assert saved["reason"] == how
        assert (spec.parent / saved["path"] / "COMPLETE").exists()
        assert not (spec.parent / "trained.json").exists()
    (spec.parent / "stop").unlink(missing_ok=True)
    assert jobs.train(spec) == 0
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] >= 5
    assert jobs.journal(spec)[-1]["outcome"] == "completed"
    assert jobs.losses(spec) == jobs.losses(long_run)


LONG = {"max_steps": 60, "save_steps": 5, "lora_dropout": 0.1, "per_device_train_batch_size": 2}


@pytest.fixture(scope="session")
def long_run(models, tmp_path_factory):
    spec = jobs.make(tmp_path_factory.mktemp("long"), models("llama"), **LONG)
    assert jobs.train(spec) == 0
    return spec


# What a trainer does when it is killed, and the function that it has then called.
SAVING = {
    "writing a file": ("torch", "save"),
    "naming the folder": ("trainer.protocol.checkpoints", "sync_tree"),
    "marking it as complete": ("trainer.protocol.checkpoints", "write_json"),
}


@pytest.mark.parametrize("moment", SAVING)
def test_a_run_that_is_killed_while_it_saves_goes_on_from_the_checkpoint_before(whole, tmp_path, moment):
    module, function = SAVING[moment]

    def train(spec):
        patched = importlib.import_module(module)
        original = getattr(patched, function)

        def fatal(*args, **kwargs):
            if (spec.parent / "checkpoints" / "checkpoint-4" / "COMPLETE").exists():
                if function == "save":
                    Path(args[1]).write_bytes(b"PK")
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **kwargs)

        setattr(patched, function, fatal)
        return jobs.train(spec)

    spec = jobs.make(tmp_path, Path(json.loads(whole.read_text())["model"]["path"]), **SETTINGS)
    assert jobs.forked(spec, train) == -signal.SIGKILL
    named = spec.parent / "checkpoints" / "checkpoint-8"
    assert named.exists() == (function == "write_json")
    assert jobs.train(spec) == 0
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] == 4
    assert jobs.losses(spec) == jobs.losses(whole)


def test_a_process_of_its_own_trains_the_same_and_takes_sigint_for_the_terminal_s(whole, models, tmp_path):
    spec = jobs.make(tmp_path, models("llama"), **SETTINGS)
    process = jobs.spawn(spec)
    wait_for_step(spec, 2)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGHUP)
    assert process.wait() == 0
    assert jobs.losses(spec) == jobs.losses(whole)


def test_a_stop_before_the_first_step_ends_the_run(models, tmp_path):
    spec = jobs.make(tmp_path, models("llama"))
    (tmp_path / "stop").touch()
    assert jobs.train(spec) == 0
    done = jobs.journal(spec)[-1]
    assert (done["type"], done["outcome"], done["step"]) == ("done", "stopped", 0)
