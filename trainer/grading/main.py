"""`python -m trainer grade`: reads graders, rows and answers from its input, and prints their scores, or a
judge and pairs of answers, and prints which is better, as `src/trainer/grading/grade.ts` reads them."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from trainer.grading import judge
from trainer.grading.grade import JUDGES_AT_ONCE, check, grade_all
from trainer.grading.score import Grader, GraderError, Sample


def main() -> dict[str, Any]:
    """What is wrong with the definitions, by name, or else the scores of the rows, and what judges took."""
    asked = json.load(sys.stdin)
    if "pairs" in asked:
        return judged_pairs(asked["judge"], asked["pairs"])
    checked = {name: check(grader) for name, grader in asked["graders"].items()}
    faults = {name: fault for name, fault in checked.items() if fault is not None}
    if faults:
        return {"faults": faults, "scores": [], "usage": {}}
    rows = [(row["item"], Sample(**row["sample"])) for row in asked["rows"]]
    scores = grade_all(asked["graders"], rows)
    told = [{name: asdict(one) for name, one in row.items()} for row in scores]
    return {"faults": {}, "scores": told, "usage": judge.usage()}


def judged_pairs(grader: Grader, pairs: list[dict[str, str]]) -> dict[str, Any]:
    """What is wrong with the judge, or else which answer of each pair is better, or why that is not known,
    and how often each side is."""

    def judged(pair: dict[str, str]) -> judge.Preference | str:
        try:
            return judge.pairwise(grader, pair["request"], pair["first"], pair["second"])
        except GraderError as error:
            return str(error)

    fault = check(grader)
    if fault is not None:
        return {"fault": fault, "summary": judge.summary([]), "pairs": []}
    with ThreadPoolExecutor(JUDGES_AT_ONCE) as threads:
        found = list(threads.map(judged, pairs))
    told = [
        {"better": None, "consistent": None, "explanation": one} if isinstance(one, str) else asdict(one)
        for one in found
    ]
    preferences = [one for one in found if not isinstance(one, str)]
    return {"fault": None, "summary": judge.summary(preferences), "pairs": told}
