"""The answers to a prompt that are compared: how many there are, and whether they are without padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.data.steps import GENERATIONS, generations, prompts_per_step
from trainer.padding_free.pairs import make_pairs_padding_free
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel

    from trainer.data.job import Job
    from trainer.model.hardware import Hardware

# Prompts that are continued to try whether a model can be without padding.
TRIED_PROMPTS = 4


def answers_per_prompt(job: Job, train_rows: int) -> int:
    """Answers per prompt; Failure when a step has fewer than two, or more prompts than there are rows."""
    settings, name = job.settings, job.strategy.name
    count, prompts = generations(settings, name), prompts_per_step(settings, name)
    if count is None or prompts is None:
        batch = settings.per_device_train_batch_size * settings.gradient_accumulation_steps
        wanted = (settings.group_size if name == "grpo" else None) or GENERATIONS[name]
        raise Failure(
            "unsupported",
            f"{name} compares at least two answers to a prompt within a step, and a step has {batch}.",
            "Set per_device_train_batch_size or gradient_accumulation_steps so that their product is a "
            f"multiple of {wanted}.",
        )
    if prompts > train_rows:
        raise Failure(
            "unsupported",
            f"A step of {name} takes {prompts} prompts with {count} answers each, and the training split has "
            f"{train_rows} rows.",
            "Lower per_device_train_batch_size or gradient_accumulation_steps, or add rows.",
        )
    return count


def why_padded(model: PreTrainedModel, pairs: Dataset, prompts: Dataset, hardware: Hardware) -> str | None:
    """Switches `model` to attention without padding if answers, those of `pairs`, then have the same
    log-probabilities, and if it continues `prompts` as the library does; why not, or None."""
    from trainer.padding_free.continuing import why_not_continued

    why = make_pairs_padding_free(model, pairs, hardware)
    if why is None:
        tried = prompts.select(range(min(TRIED_PROMPTS, len(prompts))))
        why = why_not_continued(model, tried["prompt_ids"], hardware.weights, ("repetition_penalty",))
    return why
