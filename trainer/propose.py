"""Proposes the parameters of a sweep's next trial: a stateless sampler.

Reads a question as JSON on standard input: `seed`, `direction` (`minimize` or `maximize`), `space` (for each
field `{"choices": […]}` or `{"low", "high", "log", "whole"}`), and `trials`, each with `parameters`, `state`
(`completed`, `culled`, `running` or `failed`) and `points` (the metric by step). Prints `{"parameters": …}`.
The same question has the same answer.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TypedDict

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState, create_trial

# A parameter's value.
Value = str | int | float | bool | None

# Digits of a proposed number, so that requests are legible.
DIGITS = 4
# Proposals that repeat an earlier trial are made again with another seed, at most so many times.
ATTEMPTS = 50

STATES = {"completed": TrialState.COMPLETE, "culled": TrialState.PRUNED, "running": TrialState.RUNNING}


class Entry(TypedDict, total=False):
    """A field of the space: choices, or a range."""

    choices: list[Value]
    low: float
    high: float
    log: bool
    whole: bool


class Trial(TypedDict):
    """A trial so far."""

    parameters: dict[str, Value]
    state: str
    points: list[tuple[int, float]]


class Question(TypedDict):
    """What is asked, as this file's head says."""

    seed: int
    direction: str
    space: dict[str, Entry]
    trials: list[Trial]


def main() -> int:
    """Answers the question on standard input."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print(json.dumps({"parameters": propose(json.load(sys.stdin))}))
    return 0


def propose(question: Question) -> dict[str, Value]:
    """The parameters of the next trial, none of which was tried before if that is possible."""
    space = {name: _distribution(entry) for name, entry in question["space"].items()}
    tried = [trial["parameters"] for trial in question["trials"]]
    shown = [_shown(trial, space) for trial in question["trials"] if trial["state"] in STATES]
    proposed: dict[str, Value] = {}
    for attempt in range(ATTEMPTS):
        proposed = _ask(question, space, shown, attempt)
        if proposed not in tried:
            return proposed
    return next((parameters for parameters in _all(space) if parameters not in tried), proposed)


def _ask(
    question: Question, space: dict[str, BaseDistribution], shown: list[FrozenTrial], attempt: int
) -> dict[str, Value]:
    # Each trial has a seed of its own, because a new process would otherwise draw the same numbers again.
    seed = (question["seed"] + 1_000_003 * len(question["trials"]) + 7_919 * attempt) % 2**32
    sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
    study = optuna.create_study(direction=question["direction"], sampler=sampler)
    study.add_trials(shown)
    parameters = study.ask(space).params
    return {name: _rounded(value, space[name]) for name, value in parameters.items()}


def _distribution(entry: Entry) -> BaseDistribution:
    if "choices" in entry:
        return CategoricalDistribution(entry["choices"])
    kind = IntDistribution if entry["whole"] else FloatDistribution
    return kind(entry["low"], entry["high"], log=entry["log"])


def _rounded(value: Value, distribution: BaseDistribution) -> Value:
    if not isinstance(distribution, FloatDistribution) or not isinstance(value, (int, float)) or value == 0:
        return value
    rounded = round(value, DIGITS - 1 - math.floor(math.log10(abs(value))))
    return min(max(rounded, distribution.low), distribution.high)


def _shown(trial: Trial, space: dict[str, BaseDistribution]) -> FrozenTrial:
    points = {int(step): value for step, value in trial["points"]}
    state = STATES[trial["state"]]
    return create_trial(
        state=state,
        value=points[max(points)] if state == TrialState.COMPLETE else None,
        params=trial["parameters"],
        distributions=space,
        intermediate_values=points,
    )


def _all(space: dict[str, BaseDistribution]) -> Iterator[dict[str, Value]]:
    """Every combination of a space without numbers that have fractions, else none."""
    values: list[Sequence[Value]] = []
    for distribution in space.values():
        if isinstance(distribution, CategoricalDistribution):
            values.append(distribution.choices)
        elif isinstance(distribution, IntDistribution):
            values.append(range(distribution.low, distribution.high + 1))
        else:
            return
    for combination in itertools.product(*values):
        yield dict(zip(space, combination, strict=True))
