"""The face of this room: what answers are worth by graders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from trainer.grading import texts
from trainer.grading.score import Grader, GraderError, Item, Sample, Score, Unfit


def grade(grader: Grader, item: Item, sample: Sample) -> Score:
    """The score of an answer to a row. What goes wrong is the score's `error`, and never raised."""
    try:
        score = GRADERS[grader["type"]](grader, item, sample)
    except Unfit as unfit:
        return Score(0.0, explanation=str(unfit))
    except GraderError as error:
        return Score(0.0, error=str(error))
    if score.error is None and not math.isfinite(score.value):
        return replace(score, value=0.0, error=f"The score is {score.value}, which is no finite number.")
    return score


def grade_all(graders: Mapping[str, Grader], rows: Iterable[tuple[Item, Sample]]) -> list[dict[str, Score]]:
    """The scores of each row, by the names of the graders."""
    return [{name: grade(one, item, sample) for name, one in graders.items()} for item, sample in rows]


GRADERS: dict[str, Callable[[Grader, Item, Sample], Score]] = {
    "string_check": texts.string_check,
    "text_similarity": texts.text_similarity,
}
