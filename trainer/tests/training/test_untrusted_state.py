"""The state of an optimizer is data: where it would run a program, the checkpoint is passed over."""

import json
import pickle
import shutil
import zipfile

import pytest

from trainer.tests import jobs
from trainer.tests.training.test_run import copy


class Program:
    """Pickles as a call that makes a file."""

    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return (open, (str(self.canary), "w"))


@pytest.fixture(scope="session")
def saved(models, tmp_path_factory):
    """A job that died after its second checkpoint."""
    every = {"max_steps": 6, "save_steps": 2, "save_total_limit": 99}
    spec = jobs.make(tmp_path_factory.mktemp("saved"), models("llama"), **every)
    assert jobs.train(spec) == 0
    shutil.rmtree(spec.parent / "checkpoints" / "checkpoint-6")
    (spec.parent / "trained.json").unlink()
    return spec


def write_bare(path, program):
    """The pickle alone, as `pickle.dump` writes it."""
    path.write_bytes(pickle.dumps(program))


def write_archive(path, program):
    """The archive that torch writes, with the program in the place of its pickle."""
    with zipfile.ZipFile(path) as before:
        parts = {name: before.read(name) for name in before.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as after:
        for name, data in parts.items():
            after.writestr(name, pickle.dumps(program, protocol=2) if name.endswith("/data.pkl") else data)


def poison(spec, step, name, write):
    """Puts a program into a checkpoint and makes its marker agree; returns what the program would make."""
    folder = spec.parent / "checkpoints" / f"checkpoint-{step}"
    canary = spec.parent / f"canary-{step}"
    write(folder / name, Program(canary))
    marker = json.loads((folder / "COMPLETE").read_text())
    marker["files"][name] = (folder / name).stat().st_size
    (folder / "COMPLETE").write_text(json.dumps(marker))
    return canary


@pytest.mark.parametrize("write", [write_bare, write_archive])
@pytest.mark.parametrize("name", ["optimizer.pt", "scheduler.pt", "rng_state.pth"])
def test_state_that_would_run_a_program_is_passed_over(saved, tmp_path, name, write):
    spec = copy(saved, tmp_path)
    whole = jobs.losses(spec)
    canary = poison(spec, 4, name, write)
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    lines = jobs.journal(spec)[before:]
    assert lines[0]["type"] == "hello" and lines[0]["resumed_from_step"] == 2
    (told,) = [line["message"] for line in lines if line.get("code") == "checkpoint_skipped"]
    assert "checkpoint-4" in told and name in told and "step 2" in told
    assert not canary.exists()
    assert jobs.losses(spec) == whole


def test_a_run_with_no_other_checkpoint_begins_anew(saved, tmp_path):
    spec = copy(saved, tmp_path)
    canaries = [poison(spec, step, "optimizer.pt", write_archive) for step in (2, 4)]
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0
    lines = jobs.journal(spec)[before:]
    assert lines[0]["resumed_from_step"] is None
    told = [line["message"] for line in lines if line.get("code") == "checkpoint_skipped"]
    assert len(told) == 2 and "would run" in told[0] and "from the beginning" in told[0]
    assert not any(canary.exists() for canary in canaries)


def test_the_program_of_this_test_does_run_where_pickles_are_trusted(tmp_path):
    canary = tmp_path / "canary"
    pickle.loads(pickle.dumps(Program(canary)))
    assert canary.exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"optim": "adamw_8bit", "lora_r": 64},
        {"optim": "adafactor"},
        {"lr_scheduler_type": "greedy", "eval_split": 0.25, "eval_steps": 2},
        {"lr_scheduler_type": "reduce_lr_on_plateau", "eval_split": 0.25, "eval_steps": 2},
    ],
)
def test_what_the_library_itself_keeps_is_taken_up(models, tmp_path, settings):
    spec = jobs.make(tmp_path, models("llama"), max_steps=4, save_steps=2, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    whole = jobs.losses(spec)
    shutil.rmtree(spec.parent / "checkpoints" / "checkpoint-4")
    (spec.parent / "trained.json").unlink()
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] == 2
    assert jobs.losses(spec) == whole
