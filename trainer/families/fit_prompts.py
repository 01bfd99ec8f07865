"""The end of a training on rows with prompts: from the trainer to what is exported."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from trainer.families.causal import REFERENCE_ROWS, some_rows
from trainer.training import probe
from trainer.training.fit import fit
from trainer.training.generate import PromptAnswers, generate_answers
from trainer.training.rewards.graded import graders_of

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import Trainer

    from trainer.data.job import Job, Trained


def fit_prompts(
    job: Job, trainer: Trainer, training: Dataset, held_out: Dataset | None, columns: tuple[str, ...]
) -> Trained:
    """Trains to the end or to a stop, with answers to the rows' prompts in evaluations.

    Args:
        columns: Those of the rows with tokens, by which the longest are found: prompt, answer, the other one.

    Returns:
        `step`, `stopped`, `metrics`, `model`, `references`, `golden` and `rows`.
    """
    answers = partial(generate_answers, job, trainer.model)
    trainer.answers = PromptAnswers(job, trainer, training, held_out, answers, graders_of(job))
    probe.run(job, trainer, columns)
    result = fit(trainer, job)
    model = trainer.accelerator.unwrap_model(trainer.model)
    model.config.use_cache = True
    shown = held_out if held_out is not None else training
    prompts = [(row["prompt_ids"], None) for row in shown.select(range(min(REFERENCE_ROWS, len(shown))))]
    return {
        **result,
        "model": model,
        "references": prompts,
        "golden": trainer.answers.for_export(),
        "rows": some_rows(job, training, columns[:2]),
    }
