"""Proposals for the trials of a sweep."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

from trainer.propose import propose

RATE = {"low": 1e-5, "high": 1e-1, "log": True, "whole": False}


def question(space: dict[str, Any], trials: list[dict[str, Any]], seed: int = 42) -> dict[str, Any]:
    return {"seed": seed, "direction": "minimize", "space": space, "trials": trials}


def trial(parameters: dict[str, Any], value: float, state: str = "completed") -> dict[str, Any]:
    return {"parameters": parameters, "state": state, "points": [[1, value + 1], [2, value]]}


def sweep(space: dict[str, Any], loss: Any, count: int, seed: int = 42) -> list[dict[str, Any]]:
    trials: list[dict[str, Any]] = []
    for _ in range(count):
        parameters = propose(question(space, trials, seed))
        trials.append(trial(parameters, loss(parameters)))
    return trials


def test_the_same_question_has_the_same_answer_and_another_seed_another():
    space = {"learning_rate": RATE, "lora_r": {"choices": [4, 8, 16]}}

    def loss(parameters: dict[str, Any]) -> float:
        return abs(math.log10(parameters["learning_rate"]) + 3)

    first = sweep(space, loss, 12)
    assert first == sweep(space, loss, 12)
    assert first != sweep(space, loss, 12, seed=43)
    values = [trial["parameters"]["learning_rate"] for trial in first]
    assert len(set(values)) == 12
    assert all(1e-5 <= value <= 1e-1 and float(f"{value:.3e}") == value for value in values)


def test_it_learns_from_completed_and_culled_trials():
    space = {"learning_rate": RATE}

    def distance(parameters: dict[str, Any]) -> float:
        return abs(math.log10(parameters["learning_rate"]) + 3)

    trials = sweep(space, distance, 30)
    early = [distance(trial["parameters"]) for trial in trials[:10]]
    late = [distance(trial["parameters"]) for trial in trials[-10:]]
    assert sum(late) < sum(early) / 2
    for other in trials[::3]:
        other["state"] = "culled"
    assert distance(propose(question(space, trials))) < 1


def test_every_combination_of_a_finite_space_is_proposed_once():
    space = {
        "lora_r": {"choices": [4, 8]},
        "optim": {"choices": ["adamw_torch", "sgd"]},
        "max_steps": {"low": 1, "high": 2, "log": False, "whole": True},
    }
    trials = sweep(space, lambda parameters: parameters["lora_r"], 8)
    assert len({json.dumps(trial["parameters"], sort_keys=True) for trial in trials}) == 8


def test_failed_and_running_trials_are_not_repeated():
    space = {"packing": {"choices": [True, False]}}
    failed = {"parameters": {"packing": True}, "state": "failed", "points": []}
    running = {"parameters": {"packing": True}, "state": "running", "points": []}
    assert propose(question(space, [failed])) == {"packing": False}
    assert propose(question(space, [running])) == {"packing": False}


def test_the_verb_answers_without_importing_torch():
    code = (
        "import sys; from trainer.__main__ import main; main(['propose']); "
        "print('torch' in sys.modules, file=sys.stderr)"
    )
    asked = json.dumps(question({"learning_rate": RATE}, []))
    ran = subprocess.run(
        [sys.executable, "-c", code], input=asked, capture_output=True, text=True, check=True
    )
    assert 1e-5 <= json.loads(ran.stdout)["parameters"]["learning_rate"] <= 1e-1
    assert ran.stderr.strip().endswith("False")
