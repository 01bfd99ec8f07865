"""The validation split and the number of optimizer steps, from the settings alone.

`src/contract/training/steps.ts` computes the same before a run; a test compares the two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.protocol.settings import Settings

# The most answers to a prompt that strategies compare, unless a request says how many.
GENERATIONS = {"rlhf": 4, "grpo": 8}


def held_out_rows(rows: int, eval_split: float) -> int:
    """The size of the validation split of `rows` (at least two); both splits have at least one row."""
    return min(max(1, round(rows * eval_split)), rows - 1) if eval_split > 0 else 0


def generations(settings: Settings, strategy: str) -> int | None:
    """How many answers to a prompt a strategy compares: the largest number up to GENERATIONS that divides the
    batch of a step, or the request's own if that does; None otherwise."""
    batch = settings.per_device_train_batch_size * settings.gradient_accumulation_steps
    if strategy == "grpo" and settings.group_size is not None:
        return settings.group_size if batch % settings.group_size == 0 else None
    return generations_of(batch, GENERATIONS.get(strategy, 0))


def generations_of(rows: int, most: int) -> int | None:
    """The largest number from 2 to `most` that divides `rows`, or None."""
    return next((count for count in range(most, 1, -1) if rows % count == 0), None)


def prompts_per_step(settings: Settings, strategy: str) -> int | None:
    """How many prompts a step of a strategy that compares answers has, or None."""
    count = generations(settings, strategy)
    batch = settings.per_device_train_batch_size * settings.gradient_accumulation_steps
    return None if count is None else batch // count


def share_of_step(settings: Settings, workers: int) -> tuple[int, int] | None:
    """The micro-batch and the accumulation of each of `workers` ranks, which together take the rows of one
    process's step: the accumulation is divided as far as possible, then the micro-batch; None where neither
    works out."""
    divided = math.gcd(settings.gradient_accumulation_steps, workers)
    size, rest = divmod(settings.per_device_train_batch_size, workers // divided)
    return None if rest else (size, settings.gradient_accumulation_steps // divided)


def total_steps(settings: Settings, train_rows: int, prompts: int | None = None) -> int:
    """The number of optimizer steps for `train_rows` examples.

    `prompts` is the number of examples in a step that compares answers. The library drops an incomplete last
    step of these; with every other strategy that step is smaller.
    """
    if settings.max_steps > 0:
        return settings.max_steps
    return math.ceil(settings.num_train_epochs * steps_per_epoch(settings, train_rows, prompts))


def steps_per_epoch(settings: Settings, train_rows: int, prompts: int | None = None) -> int:
    """The number of optimizer steps of an epoch, as for `total_steps`."""
    if prompts is not None:
        return max(1, train_rows // prompts)
    batches = math.ceil(train_rows / settings.per_device_train_batch_size)
    return max(1, math.ceil(batches / settings.gradient_accumulation_steps))


def planned(settings: Settings, strategy: str, rows: int) -> int:
    """The number of optimizer steps of a run on `rows` rows without packing."""
    training = rows - held_out_rows(rows, settings.eval_split)
    return total_steps(settings, training, prompts_per_step(settings, strategy))
