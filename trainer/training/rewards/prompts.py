"""Rows of prompts, whose answers are generated and graded, as tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.data import rows
from trainer.data.lengths import choose_length, more_room, too_long
from trainer.data.sequences import prompts_of
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from datasets import Dataset

    from trainer.data.job import Job
    from trainer.protocol.row import Row


def encoded_prompts(job: Job, check: Callable[[Row], None]) -> tuple[Dataset, int]:
    """The job's rows as `prompt` (the rendered text), `prompt_ids` and `item` (the row as JSON), and the most
    tokens of an answer.

    Prompts that leave an answer no room within the maximum length are dropped. Failure `bad_dataset_row` when
    none is left; `check` may raise one for a row.
    """

    def produce(batch: list[Row]) -> list[rows.Produced]:
        for row in batch:
            check(row)
        prompts = prompts_of(job, batch)
        ids = job.tokenizer(prompts, add_special_tokens=False).input_ids
        return [
            {"prompt": prompt, "prompt_ids": tokens, "item": json.dumps(row), "total_tokens": len(tokens)}
            for row, prompt, tokens in zip(batch, prompts, ids, strict=True)
        ]

    columns = {"prompt": "string", "prompt_ids": "ints", "item": "string", "total_tokens": "int"}
    template = job.template
    key: list[object] = ["prompts", template.chat_template, template.thinking, len(job.tokenizer)]
    dataset, _ = rows.build_dataset(job, "prompts", columns, produce, key)
    if len(dataset) == 0:
        raise Failure("bad_dataset_row", "The dataset has no rows.", "Add rows to it.")
    totals = dataset.data.column("total_tokens").to_numpy()
    asked = job.settings.max_answer_tokens
    length = choose_length(job, totals + asked)
    answer = max(1, min(asked, length // 2))
    fitting = (totals <= length - answer).nonzero()[0]
    if len(fitting) < len(dataset):
        too_many = f"{too_long(job, dataset, totals, length - answer)}, which leaves no room for an answer"
        if len(fitting) == 0:
            message = f"No row is left: every prompt is {too_many}."
            raise Failure("bad_dataset_row", message, more_room(job, length))
        job.warn(
            "rows_left_out",
            f"{len(dataset) - len(fitting):,} of {len(dataset):,} prompts are {too_many}, and are dropped.",
        )
        dataset = dataset.select(fitting)
    return dataset, answer


def pairs_of(prompts: Dataset) -> Dataset:
    """The first of `prompts` as pairs that begin again in place of answers, to try a model on."""
    from datasets import Dataset

    from trainer.padding_free.pairs import TRIED_PAIRS

    ids = prompts.select(range(min(TRIED_PAIRS, len(prompts))))["prompt_ids"]
    backwards = [tokens[::-1] for tokens in ids]
    return Dataset.from_dict({"prompt_ids": ids, "chosen_ids": ids, "rejected_ids": backwards})
