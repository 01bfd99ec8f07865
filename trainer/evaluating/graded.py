"""The figures that graders give the answers of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trainer.data import rows
from trainer.grading.grade import grade_all
from trainer.grading.score import figure
from trainer.training.rewards.graded import sample_of

if TYPE_CHECKING:
    from trainer.data.job import Job
    from trainer.evaluating.row_result import RowResult
    from trainer.grading.score import Grader

# Most characters of an explanation in the result of a row.
NOTED_CHARACTERS = 1_000


def grade_answers(
    job: Job, graders: Mapping[str, Grader], results: Sequence[RowResult], offered: Sequence[Sequence[str]]
) -> dict[str, float]:
    """The mean of each grader's scores; `results` get those of their rows, with the explanations. Rows that
    cannot be scored count as 0, and are warned of. `offered` are the names of the tools of each prompt."""
    if not graders:
        return {}
    sums = dict.fromkeys(graders, 0.0)
    errors: dict[str, list[tuple[int, str]]] = {name: [] for name in graders}
    items = [row for _, row in rows.read_rows(job.spec.dataset.path, job.fields)]
    samples = [sample_of(result.answer or "", names) for result, names in zip(results, offered, strict=True)]
    graded = grade_all(graders, list(zip(items, samples, strict=True)), job.beat_or_stop)
    for result, scores in zip(results, graded, strict=True):
        for name, score in scores.items():
            sums[name] += score.value
            result.figures[figure(name)] = score.value
            result.notes[name] = (score.error or score.explanation)[:NOTED_CHARACTERS]
            if score.error is not None:
                errors[name].append((result.line, score.error))
    for name, found in errors.items():
        if found:
            line, error = found[0]
            job.warn(
                "rows_not_graded",
                f"The grader {name} could not score {len(found):,} of {len(results):,} rows, which count as "
                f"0. Line {line}: {error[:NOTED_CHARACTERS]}",
            )
    return {figure(name): total / len(results) for name, total in sums.items()}
