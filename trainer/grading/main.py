"""`python -m trainer grade`: reads graders, rows and answers from its input, and prints their scores,
as `src/trainer/grading/grade.ts` reads them."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from trainer.grading import judge
from trainer.grading.grade import check, grade_all
from trainer.grading.score import Sample


def main() -> dict[str, Any]:
    """What is wrong with the definitions, by name, or else the scores of the rows, and what judges took."""
    asked = json.load(sys.stdin)
    checked = {name: check(grader) for name, grader in asked["graders"].items()}
    faults = {name: fault for name, fault in checked.items() if fault is not None}
    if faults:
        return {"faults": faults, "scores": [], "usage": {}}
    rows = [(row["item"], Sample(**row["sample"])) for row in asked["rows"]]
    scores = grade_all(asked["graders"], rows)
    told = [{name: asdict(one) for name, one in row.items()} for row in scores]
    return {"faults": {}, "scores": told, "usage": judge.usage()}
