"""The face of this room: what answers are worth by graders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from trainer.grading import cage, contents, formula, json_answers, judge, judge_server, texts
from trainer.grading.formula import FormulaError
from trainer.grading.score import Grader, GraderError, Item, Sample, Score, Unfit

JUDGES_AT_ONCE = 8


def grade(grader: Grader, item: Item, sample: Sample) -> Score:
    """The score of an answer to a row. What goes wrong is the score's `error`, and never raised."""
    try:
        score = GRADERS[grader["type"]](grader, item, sample)
    except Unfit as unfit:
        return Score(0.0, explanation=str(unfit), kinds=["sample_parse_error"])
    except GraderError as error:
        other = "python_grader_runtime_error" if grader["type"] == "python" else "other_error"
        return Score(0.0, error=str(error), kinds=[error.kind or other])
    if score.error is None and not math.isfinite(score.value):
        told = f"The score is {score.value}, which is no finite number."
        return replace(score, value=0.0, error=told, kinds=[*score.kinds, "other_error"])
    return score


def grade_all(
    graders: Mapping[str, Grader],
    rows: Sequence[tuple[Item, Sample]],
    beat: Callable[[], None] = lambda: None,
) -> list[dict[str, Score]]:
    """The scores of each row, by the names of the graders. Of models as judges, several are asked at once.
    `beat` is called every few rows, and may raise."""

    def scored(row: tuple[Item, Sample]) -> dict[str, Score]:
        return {name: grade(one, *row) for name, one in graders.items()}

    found: list[dict[str, Score]] = []
    with ThreadPoolExecutor(JUDGES_AT_ONCE) as threads:
        score = threads.map if any(map(_asks_models, graders.values())) else map
        for start in range(0, len(rows), JUDGES_AT_ONCE):
            beat()
            found += score(scored, rows[start : start + JUDGES_AT_ONCE])
    return found


def _asks_models(grader: Grader) -> bool:
    if grader["type"] == "multi":
        return any(map(_asks_models, grader["graders"].values()))
    return grader["type"] in ("score_model", "label_model")


def _multi(grader: Grader, item: Item, sample: Sample) -> Score:
    """A score that is computed from those of other graders."""
    scores = {name: grade(one, item, sample) for name, one in grader["graders"].items()}
    errors = [f"{name}: {score.error}" for name, score in scores.items() if score.error is not None]
    parts = {name: score.value for name, score in scores.items()}
    kinds = list(dict.fromkeys(kind for score in scores.values() for kind in score.kinds))
    if errors:
        return Score(0.0, parts, " ".join(errors), kinds=kinds)
    told = "\n".join(f"{name} {score.value:g}: {score.explanation}" for name, score in scores.items())
    try:
        return Score(formula.compute(grader["calculate_output"], parts), parts, None, told, kinds)
    except FormulaError as error:
        return Score(0.0, parts, str(error), told, [*kinds, error.kind])


def check(grader: Grader) -> str | None:
    """What is wrong with the definition of a grader beyond its fields (a formula, a pattern, a schema), or
    None."""
    try:
        match grader["type"]:
            case "multi":
                formula.check(grader["calculate_output"], grader["graders"])
                faults = {name: check(one) for name, one in grader["graders"].items()}
                return next((f"{name}: {fault}" for name, fault in faults.items() if fault), None)
            case "python":
                cage.check_source(grader)
            case "score_model" | "label_model":
                judge_server.check(grader)
            case "hone_json_schema":
                json_answers.check_schema(grader["schema"])
            case "hone_regex":
                contents.compiled(grader["pattern"])
    except GraderError as error:
        return str(error)
    return None


GRADERS: dict[str, Callable[[Grader, Item, Sample], Score]] = {
    "string_check": texts.string_check,
    "text_similarity": texts.text_similarity,
    "python": cage.python,
    "score_model": judge.score_model,
    "label_model": judge.label_model,
    "multi": _multi,
    "hone_json_schema": json_answers.json_schema,
    "hone_json_equal": json_answers.json_equal,
    "hone_number": contents.number,
    "hone_math": contents.math,
    "hone_regex": contents.regular_expression,
    "hone_length": contents.length,
    "hone_contains": contents.contains,
}
