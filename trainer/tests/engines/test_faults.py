"""Ranks on this machine that are killed or run out of memory; docs/workers.md has the table."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from collections.abc import Callable
from functools import partial

import psutil
import pytest
import torch

from trainer.run import RESTARTS, run
from trainer.tests import jobs
from trainer.tests.engines.moments import at, job, left_behind, siblings, steps, watched
from trainer.tests.engines.test_equality import difference

long = pytest.mark.long

pytestmark = pytest.mark.usefixtures("libraries")


def is_like(spec, whole) -> bool:
    """Whether the run has ended as if nothing had happened, and left nothing behind."""
    assert jobs.journal(spec)[-1]["outcome"] == "completed"
    assert left_behind(spec) == []
    return difference(spec, whole) == 0


def kill_sibling() -> None:
    """Kills one that is neither the first nor, of four, the last."""
    others = sorted(siblings(), key=lambda process: process.pid)
    others[len(others) // 2].kill()


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_all() -> None:
    """As a job that is discarded is ended."""
    os.killpg(os.getpgrp(), signal.SIGKILL)


def lose_the_last_restart(spec) -> int:
    """Trains as a run that has started again as often as it may."""
    return run(str(spec), lost=RESTARTS)


@pytest.mark.parametrize(
    ("moment", "workers"),
    [("writing a checkpoint", 2), pytest.param("training", 4, marks=long)],
)
def test_a_worker_that_is_killed_too_often_fails_the_run_which_can_be_resumed(
    models, tmp_path, whole, moment, workers
):
    spec = job(models, tmp_path / "job", workers)
    assert watched(spec, at(moment, kill_sibling, lose_the_last_restart)) == 1
    failed = jobs.journal(spec)[-1]
    assert (failed["type"], failed["code"]) == ("failed", "worker_lost")
    assert f"Worker {workers // 2} was killed by SIGKILL" in failed["message"]
    assert left_behind(spec) == []
    kept = steps(spec)[-1]
    assert jobs.forked(spec) == 0
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] == kept
    assert is_like(spec, whole(workers))


@long
@pytest.mark.parametrize(
    ("moment", "workers"),
    [
        ("loading the tokenizer", 2),
        ("evaluating the base model", 2),
        ("training", 2),
        ("training", 4),
        ("evaluating", 2),
        ("writing a checkpoint", 2),
    ],
)
def test_a_run_whose_worker_is_killed_goes_on_by_itself(models, tmp_path, whole, moment, workers):
    spec = job(models, tmp_path / "job", workers)
    assert watched(spec, at(moment, kill_sibling)) == 0
    (warning,) = jobs.journal(spec, "warning")
    assert warning["code"] == "worker_lost" and "killed by SIGKILL" in warning["message"]
    assert len(jobs.journal(spec, "hello")) == 1
    assert is_like(spec, whole(workers))


@pytest.mark.parametrize(
    ("moment", "kill"),
    [
        ("evaluating", kill_self),
        *(
            pytest.param(moment, kill, marks=long)
            for kill in (kill_self, kill_all)
            for moment in ("loading the tokenizer", "loading the model", "training", "writing a checkpoint")
        ),
        pytest.param("saving the adapter", kill_self, marks=long),
    ],
)
def test_no_rank_survives_rank_0_and_the_run_can_be_resumed(models, tmp_path, whole, moment, kill):
    spec = job(models, tmp_path / "job")
    assert watched(spec, at(moment, kill)) == -signal.SIGKILL
    kept = steps(spec)[-1] if steps(spec) else None
    assert jobs.forked(spec) == 0
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] == kept
    assert is_like(spec, whole())


def exhaust_memory() -> None:
    """Takes memory up to a limit near what this process has."""
    limit = psutil.Process().memory_info().vms + (256 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    taken = []
    while True:
        taken.append(torch.ones(1 << 23))


def in_step(number: int, step: int, act: Callable) -> Callable:
    """A training for a fork of this process. Rank `number` calls `act` with its trainer at the end of
    a step."""

    def work(spec) -> int:
        from trainer.training.reporter import Reporter

        on_step_end = Reporter.on_step_end

        def act_in_step(self, args, state, control, **others):
            if (self.job.rank.number, state.global_step) == (number, step):
                act(self.trainer)
            return on_step_end(self, args, state, control, **others)

        Reporter.on_step_end = act_in_step
        return jobs.train(spec)

    return work


@pytest.mark.parametrize("number", [1, pytest.param(0, marks=long)])
def test_a_rank_without_memory_fails_the_run_with_its_code(models, tmp_path, whole, number):
    spec = job(models, tmp_path / "job")
    assert watched(spec, in_step(number, 5, lambda trainer: exhaust_memory())) == 1
    failed = jobs.journal(spec)[-1]
    assert (failed["type"], failed["code"]) == ("failed", "out_of_memory_host")
    assert failed["message"].startswith("Worker 1: ") == (number == 1)
    assert left_behind(spec) == []
    if number == 1:
        assert jobs.forked(spec) == 0
        assert is_like(spec, whole())


def test_weights_that_differ_between_ranks_fail_the_run_at_the_next_checkpoint(models, tmp_path):
    def perturb(trainer) -> None:
        weight = next(each for each in trainer.model.parameters() if each.requires_grad)
        weight.data.view(-1)[0] += 1e-6

    spec = job(models, tmp_path / "job")
    assert watched(spec, in_step(1, 4, perturb)) == 1
    assert steps(spec) == [3]
    failed = jobs.journal(spec)[-1]
    assert (failed["type"], failed["code"]) == ("failed", "workers_differ")
    assert "worker 1 differs" in failed["evidence"]
    assert left_behind(spec) == []


def test_a_state_of_a_rank_that_would_run_code_is_passed_over(models, tmp_path, whole):
    from trainer.protocol import checkpoints

    shutil.copytree(whole().parent / "checkpoints", tmp_path / "checkpoints")
    kept = tmp_path / "checkpoints" / "checkpoint-10"
    size = (kept / "rng_state_1.pth").stat().st_size
    torch.save(partial(print, "x" * size), kept / "rng_state_1.pth")
    marker = json.loads((kept / "COMPLETE").read_text())
    marker["files"]["rng_state_1.pth"] = (kept / "rng_state_1.pth").stat().st_size
    (kept / "COMPLETE").write_text(json.dumps(marker))
    found, skipped = checkpoints.newest(tmp_path / "checkpoints")
    assert found.step == 9 and "rng_state_1.pth would run" in skipped[0][1]
