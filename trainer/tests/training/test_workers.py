"""Several ranks on this machine against one process: equal adapters, and what happens when a rank is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from trainer.tests import jobs
from trainer.tests.tiny import sentences
from trainer.tests.training.test_accumulation import model_without_dropout
from trainer.warm import MODULES

long = pytest.mark.long

TEXTS = [(text * (1 + number % 3), reply) for number, (text, reply) in enumerate(sentences(37))]
ANSWERS = [{"input": text, "output": reply} for text, reply in TEXTS]
PAIRS = [{"prompt": text, "chosen": reply, "rejected": reply[::-1]} for text, reply in TEXTS[:21]]
SPANS = [{"context": f"{text} The {reply}.", "question": "What?", "answer": reply} for text, reply in TEXTS]
DPO = {"strategy": "dpo"}
QLORA = {"strategy": "qlora"}
SUMMARY = {"task": "summarization"}
QUESTIONS = {"task": "extractive-question-answering"}
PACKED = {"packing": True, "max_seq_length": 64, "num_train_epochs": 3}
FOUR = {"gradient_accumulation_steps": 4}
HALF = {"bf16": True, "gradient_checkpointing": True}

# Gradients that are added in another order are rounded otherwise, in float32 by about 1e-7. Adam divides each
# gradient by its size, so rounding counts most where a gradient is near zero. Relative to the largest weight
# of the adapter; measured below 9e-5 (packing, four ranks, 18 steps).
ROUNDING = 5e-4
# bfloat16 rounds to 1/256.
HALF_ROUNDING = 5e-2


@pytest.fixture(scope="module", autouse=True)
def libraries():
    """Imports what a run imports once: every rank is a fork of this process."""
    for name in MODULES:
        import_module(name)


def adapter(spec: Path) -> dict[str, torch.Tensor]:
    return load_file(spec.parent / "artifacts/adapter/adapter_model.safetensors")


def difference(one: Path, other: Path) -> float:
    """The largest difference of two adapters' weights, relative to their largest weight."""
    first, second = adapter(one), adapter(other)
    assert set(first) == set(second)
    largest = max(float(value.abs().max()) for value in first.values())
    # It moves every place of a row alike, which no loss sees: what it learns is rounding alone.
    names = [name for name in first if not name.endswith("qa_outputs.bias")]
    return max(float((first[name].float() - second[name].float()).abs().max()) for name in names) / largest


def share(rows, model, folder, workers, top=None, **settings) -> Path:
    """A job with some workers that has run to its end."""
    if not (folder / "model").exists():
        model_without_dropout(model, folder / "model")
    spec = jobs.make(folder / f"workers-{workers}", folder / "model", rows, top, workers=workers, **settings)
    assert jobs.forked(spec) == 0, jobs.journal(spec)[-1]
    return spec


@pytest.mark.parametrize(
    ("kind", "rows", "top", "settings"),
    [
        ("llama", ANSWERS, None, {"eval_split": 0.2, "num_train_epochs": 2}),
        ("llama", PAIRS, DPO, {}),
        pytest.param("llama", ANSWERS, None, PACKED, marks=long),
        pytest.param("llama", PAIRS, DPO, {"eval_split": 0.2}, marks=long),
        pytest.param("gpt2", ANSWERS, None, {}, marks=long),
        pytest.param("llama", ANSWERS, QLORA, {}, marks=long),
        pytest.param("t5", ANSWERS, SUMMARY, {"eval_split": 0.2}, marks=long),
        pytest.param("bart", ANSWERS, SUMMARY, {}, marks=long),
        pytest.param("bert", SPANS, QUESTIONS, {"eval_split": 0.2}, marks=long),
        pytest.param("llama", ANSWERS, None, {"lora_dropout": 0.0, **HALF}, marks=long),
    ],
)
def test_two_ranks_that_take_a_micro_batch_each_are_one_process_to_the_bit(
    models, tmp_path, kind, rows, top, settings
):
    """One process adds two gradients, and so do two ranks. An epoch's last step has rows for one alone."""
    settings = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, **settings}
    one, two = (share(rows, models(kind), tmp_path, workers, top, **settings) for workers in (1, 2))
    assert difference(one, two) == 0
    for field in ("loss", "learning_rate", "tokens", "grad_norm"):
        told = [[line[field] for line in jobs.journal(spec, "metric")] for spec in (one, two)]
        assert told[0] == told[1], field
    losses = [[line["metrics"]["eval_loss"] for line in jobs.journal(spec, "eval")] for spec in (one, two)]
    assert losses[0] == losses[1]
    kinds = [[line["type"] for line in jobs.journal(spec)] for spec in (one, two)]
    assert kinds[0] == kinds[1], "only rank 0 reports"
    assert not (two.parent / "ranks").exists()


@pytest.mark.parametrize(
    ("kind", "rows", "top", "workers", "settings", "bound"),
    [
        ("llama", ANSWERS, None, 4, {"gradient_accumulation_steps": 2}, ROUNDING),
        pytest.param("llama", ANSWERS, None, 2, FOUR, ROUNDING, marks=long),
        pytest.param("llama", ANSWERS, None, 3, {"gradient_accumulation_steps": 3}, ROUNDING, marks=long),
        pytest.param("llama", ANSWERS, None, 2, {}, ROUNDING, marks=long),
        pytest.param(
            "llama", ANSWERS, None, 4, {**PACKED, "gradient_accumulation_steps": 4}, ROUNDING, marks=long
        ),
        pytest.param("llama", PAIRS, DPO, 4, FOUR, ROUNDING, marks=long),
        pytest.param("t5", ANSWERS, SUMMARY, 4, FOUR, ROUNDING, marks=long),
        pytest.param("bert", SPANS, QUESTIONS, 4, FOUR, ROUNDING, marks=long),
        pytest.param("llama", ANSWERS, None, 4, {**FOUR, **HALF}, HALF_ROUNDING, marks=long),
    ],
)
def test_ranks_that_add_gradients_in_another_order_differ_by_rounding_alone(
    models, tmp_path, kind, rows, top, workers, settings, bound
):
    settings = {"per_device_train_batch_size": 4, **settings}
    one, several = (share(rows, models(kind), tmp_path, count, top, **settings) for count in (1, workers))
    assert difference(one, several) < bound
    tokens = [[line["tokens"] for line in jobs.journal(spec, "metric")] for spec in (one, several)]
    assert tokens[0] == tokens[1]


def test_weights_that_differ_between_ranks_fail_the_run_at_the_next_checkpoint(models, tmp_path):
    def perturbed(spec: Path) -> int:
        from trainer.training.reporter import Reporter

        whole = Reporter.on_step_end

        def on_step_end(self, args, state, control, **others):
            if self.job.rank.number == 1 and state.global_step == 3:
                weight = next(each for each in self.trainer.model.parameters() if each.requires_grad)
                weight.data.view(-1)[0] += 1e-6
            return whole(self, args, state, control, **others)

        Reporter.on_step_end = on_step_end
        return jobs.train(spec)

    spec = jobs.make(tmp_path, models("llama"), workers=2, save_steps=2, **SHARED)
    assert jobs.forked(spec, perturbed) == 1
    assert [line["step"] for line in jobs.journal(spec, "checkpoint")] == [2]
    failed = jobs.journal(spec)[-1]
    assert (failed["type"], failed["code"]) == ("failed", "workers_differ")
    assert "worker 1 differs" in failed["evidence"]


SHARED = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2}
ENDLESS = {**SHARED, "max_steps": 4000, "save_steps": 3}


def start(spec: Path, lost: int = 0) -> tuple[int, psutil.Process]:
    """Starts the job; returns its pid and its sibling when it has made a checkpoint."""
    from trainer.run import run

    pid = jobs.fork(spec, lambda path: run(str(path), lost=lost))
    while not jobs.journal(spec, "checkpoint"):
        assert not jobs.journal(spec, "failed"), jobs.journal(spec)[-1]
        time.sleep(0.01)
    (sibling,) = psutil.Process(pid).children()
    return pid, sibling


def exit_status(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_worker_that_is_killed_too_often_fails_the_run(models, tmp_path):
    spec = jobs.make(tmp_path, models("llama"), workers=2, **ENDLESS)
    pid, sibling = start(spec, lost=3)
    sibling.kill()
    assert exit_status(pid) == 1
    failed = jobs.journal(spec)[-1]
    assert (failed["type"], failed["code"]) == ("failed", "worker_lost")
    assert "Worker 1 was killed by SIGKILL" in failed["message"]


def test_no_rank_survives_rank_0(models, tmp_path):
    spec = jobs.make(tmp_path, models("llama"), workers=2, **ENDLESS)
    pid, sibling = start(spec)
    os.kill(pid, signal.SIGKILL)
    assert exit_status(pid) == -signal.SIGKILL
    psutil.wait_procs([sibling], timeout=300)
    assert not sibling.is_running()


@pytest.mark.parametrize("how", ["stop", pytest.param("signal", marks=long)])
def test_a_stopped_run_goes_on_with_as_many_workers_or_with_others(models, tmp_path, how):
    settings = {**SHARED, "max_steps": 40, "save_steps": 1000}
    whole = share(None, models("llama"), tmp_path, 2, **settings)
    spec = jobs.make(tmp_path / "stopped", models("llama"), workers=2, **settings)
    pid = jobs.fork(spec)
    while not jobs.journal(spec, "metric"):
        time.sleep(0.01)
    if how == "stop":
        (spec.parent / "stop").touch()
    else:
        # To the group, as a terminal would.
        os.killpg(pid, signal.SIGTERM)
    assert exit_status(pid) == 0
    done = jobs.journal(spec)[-1]
    assert (done["type"], done["outcome"]) == ("done", "stopped") and done["step"] < 40
    kept = spec.parent / jobs.journal(spec, "checkpoint")[-1]["path"]
    assert {path.name for path in kept.glob("rng_state*")} == {"rng_state_0.pth", "rng_state_1.pth"}
    (spec.parent / "stop").unlink(missing_ok=True)
    alone = tmp_path / "alone"
    jobs_text = spec.read_text().replace(str(spec.parent), str(alone))
    shutil.copytree(spec.parent, alone)
    changed = json.loads(jobs_text)
    changed["settings"]["workers"] = 1
    (alone / "spec.json").write_text(json.dumps(changed))
    assert jobs.forked(spec) == 0 and jobs.forked(alone / "spec.json") == 0
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] == done["step"]
    assert difference(whole, spec) == 0
    assert difference(whole, alone / "spec.json") == 0


def test_a_state_of_a_rank_that_would_run_code_is_passed_over(models, tmp_path):
    spec = share(None, models("llama"), tmp_path, 2, **SHARED)
    (spec.parent / "trained.json").unlink()
    (kept,) = (spec.parent / "checkpoints").glob("checkpoint-*")
    size = (kept / "rng_state_1.pth").stat().st_size
    torch.save(partial(print, "x" * size), kept / "rng_state_1.pth")
    marker = json.loads((kept / "COMPLETE").read_text())
    marker["files"]["rng_state_1.pth"] = (kept / "rng_state_1.pth").stat().st_size
    (kept / "COMPLETE").write_text(json.dumps(marker))
    from trainer.training import checkpoints

    found, skipped = checkpoints.newest(spec.parent / "checkpoints")
    assert found is None and "rng_state_1.pth would run" in skipped[0][1]


@long
@pytest.mark.parametrize("phase", ["load", "train"])
def test_a_run_whose_worker_is_killed_starts_again_by_itself(models, tmp_path, phase):
    settings = {**SHARED, "max_steps": 40, "save_steps": 4}
    whole = share(None, models("llama"), tmp_path, 2, **settings)
    spec = jobs.make(tmp_path / "killed", models("llama"), workers=2, **settings)
    process = jobs.spawn(spec)
    rank0 = psutil.Process(process.pid)
    while not (siblings := rank0.children()):
        time.sleep(0.01)
    if phase == "train":
        while not jobs.journal(spec, "checkpoint"):
            time.sleep(0.01)
    siblings[0].kill()
    assert process.wait() == 0
    (warning,) = jobs.journal(spec, "warning")
    assert warning["code"] == "worker_lost" and "killed by SIGKILL" in warning["message"]
    assert jobs.journal(spec)[-1]["outcome"] == "completed"
    assert difference(whole, spec) == 0
    assert len(jobs.journal(spec, "hello")) == 1


@pytest.mark.parametrize(
    ("top", "settings", "word"),
    [
        ({"strategy": "rlhf"}, {"workers": 2}, "rlhf compares"),
        (None, {"workers": 3, **SHARED}, "cannot be divided among 3 workers"),
    ],
)
def test_what_several_workers_cannot_train_is_refused(models, tmp_path, top, settings, word):
    spec = jobs.make(tmp_path, models("llama"), PAIRS if top else None, top, **settings)
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert failed["code"] == "unsupported" and word in failed["message"]
