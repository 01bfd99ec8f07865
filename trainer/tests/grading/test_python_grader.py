"""Graders that run Python, by the face that all graders have."""

from __future__ import annotations

import sys

import pytest

from trainer.grading.grade import check, grade
from trainer.grading.score import Sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="graders are enclosed on Linux alone")
ITEM = {"reference": "Paris"}


def test_python_gets_the_sample_and_the_row() -> None:
    source = (
        "def grade(sample, item):\n"
        "    told = sample['choices'][0]['message']['content']\n"
        "    return 0.5 * (told == item['reference']) + 0.5 * (sample['output_json'] is None)"
    )
    grader = {"type": "python", "source": source}
    assert check(grader) is None
    assert grade(grader, ITEM, Sample("Paris")).value == 1.0
    assert grade(grader, ITEM, Sample("[]")).value == 0.0


def test_python_that_fails_is_an_error_of_its_row_and_of_a_multi_grader() -> None:
    python = {"type": "python", "source": "def grade(sample, item):\n    return item['score']"}
    multi = {"type": "multi", "graders": {"a": python}, "calculate_output": "a"}
    assert grade(python, {"score": 0.75}, Sample("")).value == 0.75
    assert grade(python, ITEM, Sample("")).error == "line 2: KeyError: 'score'"
    assert grade(multi, ITEM, Sample("")).error == "a: line 2: KeyError: 'score'"


def test_a_source_with_a_syntax_error_is_told_with_its_line() -> None:
    grader = {"type": "python", "source": "def grade(sample, item):\n    return ("}
    assert check(grader) == "line 2: SyntaxError: '(' was never closed"
    assert grade(grader, ITEM, Sample("")).error == "line 2: SyntaxError: '(' was never closed"
