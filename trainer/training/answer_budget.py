"""How many validation rows a run answers in each evaluation, and how long an answer may be.

A model that was not trained for the task seldom ends its answers, so that without bounds those of the base
model can take longer than the training. The bounds follow from the rows and the settings: the base model
and all checkpoints answer the same rows, also when a run is resumed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trainer.data.steps import steps_per_epoch, total_steps

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.settings import Settings

# Rows that are answered at least, where there are as many, and at most.
LEAST_ROWS = 16
MOST_ROWS = 64
# The share of the training's time that the answers of all evaluations may take.
SHARE = 0.1
# Trained tokens that take as long as one written token: 464 and 39 a second, SmolLM2-135M on two cores.
TRAINED_PER_WRITTEN = 12


def longest_answer(tokenizer: PreTrainedTokenizerBase, references: list[str], most: int) -> int:
    """The most tokens of an answer: twice those of the longest of `references` with its end, up to `most`;
    `most` without references."""
    if not references:
        return most
    longest = max(len(ids) for ids in tokenizer(references, add_special_tokens=False).input_ids)
    return min(most, 2 * (longest + 1))


def scored_rows(settings: Settings, train_rows: int, train_tokens: int, written: int) -> int:
    """How many rows an evaluation answers with up to `written` tokens each, for a training on `train_rows`
    rows of `train_tokens` tokens altogether."""
    steps = total_steps(settings, train_rows)
    of_epoch = steps_per_epoch(settings, train_rows)
    # The first is that of the base model.
    evaluations = 1 + math.ceil(steps / (settings.eval_steps or of_epoch))
    trained = train_tokens * steps / of_epoch
    affordable = SHARE * trained / (TRAINED_PER_WRITTEN * written * evaluations)
    return min(MOST_ROWS, max(LEAST_ROWS, int(affordable)))
