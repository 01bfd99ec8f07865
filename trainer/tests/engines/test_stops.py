"""Runs of several ranks that are stopped, resumed with as many or with one, and refused."""

from __future__ import annotations

import json
import os
import shutil
import signal

import pytest

from trainer.engines.choose import why_one_worker
from trainer.registry import create
from trainer.tests import export_fixture, jobs
from trainer.tests.engines.moments import MOMENTS, at, job, left_behind, steps, watched
from trainer.tests.engines.test_equality import PAIRS, difference

long = pytest.mark.long
pytestmark = pytest.mark.usefixtures("libraries")


def stop(spec) -> None:
    (spec.parent / "stop").touch()


def resume(spec) -> None:
    (spec.parent / "stop").unlink(missing_ok=True)
    assert jobs.forked(spec) == 0


@pytest.mark.parametrize(
    "moment",
    [
        "evaluating",
        *(
            pytest.param(moment, marks=long)
            for moment in MOMENTS
            if moment not in ("evaluating", "saving the adapter")
        ),
    ],
)
def test_a_run_is_stopped_in_every_phase_and_goes_on(models, tmp_path, whole, moment):
    spec = job(models, tmp_path / "job")
    assert watched(spec, at(moment, lambda: stop(spec))) == 0
    done = jobs.journal(spec, "done")[-1]
    kept = steps(spec)[-1] if steps(spec) else None
    assert (done["outcome"], done["step"]) == ("stopped", kept or 0) and done["step"] < 10
    assert left_behind(spec) == []
    resume(spec)
    assert jobs.journal(spec, "hello")[-1]["resumed_from_step"] == kept
    assert jobs.journal(spec)[-1]["outcome"] == "completed" and left_behind(spec) == []
    assert difference(spec, whole()) == 0


@long
def test_a_run_is_stopped_in_its_export_and_goes_on(models, tmp_path):
    spec = job(models, tmp_path / "job")
    given = json.loads(spec.read_text())
    given.update(export={"quantizations": ["F16"]}, tools=export_fixture.TOOLS)
    spec.write_text(json.dumps(given))
    assert watched(spec, at("saving the adapter", lambda: stop(spec))) == 0
    assert jobs.journal(spec, "done")[-1]["outcome"] == "stopped"
    assert left_behind(spec) == [] and not list((spec.parent / "artifacts").glob("*.gguf*"))
    resume(spec)
    assert jobs.journal(spec)[-1]["outcome"] == "completed"
    assert (spec.parent / "artifacts" / "model-F16.gguf").exists()


@long
def test_a_signal_to_all_ranks_stops_the_run_which_goes_on_with_one_worker_alike(models, tmp_path, whole):
    spec = job(models, tmp_path / "job")
    # To the group, as a terminal would.
    assert watched(spec, at("training", lambda: os.killpg(os.getpgrp(), signal.SIGTERM))) == 0
    done = jobs.journal(spec, "done")[-1]
    assert done["outcome"] == "stopped" and 0 < done["step"] < 10
    kept = spec.parent / jobs.journal(spec, "checkpoint")[-1]["path"]
    assert {path.name for path in kept.glob("rng_state*")} == {"rng_state_0.pth", "rng_state_1.pth"}
    alone = tmp_path / "alone" / "spec.json"
    shutil.copytree(spec.parent, alone.parent)
    changed = json.loads(spec.read_text().replace(str(spec.parent), str(alone.parent)))
    changed["settings"]["workers"] = 1
    alone.write_text(json.dumps(changed))
    for resumed in (spec, alone):
        resume(resumed)
        assert difference(resumed, whole()) == 0


@pytest.mark.parametrize(
    ("top", "settings", "word"),
    [
        ({"strategy": "rlhf"}, {"workers": 2}, "rlhf compares"),
        (None, {"workers": 3, "per_device_train_batch_size": 2}, "cannot be divided among 3 workers"),
    ],
)
def test_what_several_workers_cannot_train_is_refused(models, tmp_path, top, settings, word):
    spec = jobs.make(tmp_path, models("llama"), PAIRS if top else None, top, **settings)
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert failed["code"] == "unsupported" and word in failed["message"]


def test_the_accelerated_provider_has_one_worker():
    why = why_one_worker(create("strategy", "sft"), create("provider", "accelerated"))
    assert why is not None and "kernels" in why
    assert why_one_worker(create("strategy", "sft"), create("provider", "standard")) is None
