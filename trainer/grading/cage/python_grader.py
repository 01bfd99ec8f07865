"""Graders of the type `python`."""

from __future__ import annotations

from functools import lru_cache

from trainer.grading.cage.cage import Cage
from trainer.grading.score import Grader, Item, Sample, Score


@lru_cache(maxsize=16)
def _cage(source: str) -> Cage:
    return Cage(source)


def python(grader: Grader, item: Item, sample: Sample) -> Score:
    """The number that the grader's function returns."""
    return Score(_cage(grader["source"]).grade(sample.namespace(), dict(item)))


def check_source(grader: Grader) -> None:
    """Raises GraderError for a source that does not run, or that this system cannot enclose."""
    _cage(grader["source"])
