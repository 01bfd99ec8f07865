"""Preferences as tokens: a prompt with a chosen and a rejected answer, or with one that has a label."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.data import pairs, rows
from trainer.data.encode import encode_conversations
from trainer.data.lengths import choose_length, more_room, too_long
from trainer.data.template import render
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from datasets import Dataset

    from trainer.data.job import Job
    from trainer.protocol.row import Row

SAME_LABELS = "Add rows with the other label, or learn from the right answers alone with the strategy sft."


def encoded_pairs(job: Job, check: Callable[[Row], None] | None = None) -> tuple[Dataset, int]:
    """The job's rows as `prompt` (the rendered text), `prompt_ids`, `chosen_ids` and `rejected_ids` (answers
    with their end-of-turn token), and the maximum length of a prompt with its answer. Unpaired preferences
    have `completion_ids` and `label` instead of both answers. With `check`, which may raise a Failure for a
    row, also as `item` (the row as JSON).

    Longer rows are dropped, because a preference does not hold for a truncated answer. Failure
    `bad_dataset_row` when none is left.
    """

    def produce(batch: list[Row]) -> list[rows.Produced]:
        if check:
            for row in batch:
                check(row)
        encoded = {f"{answer}_ids": answers_of(job, batch, answer) for answer in answers}
        [prompts, *_] = (prompts for prompts, _ in encoded.values())
        return [
            {
                "prompt": render(job.template, pairs.messages(job.template, row, answers[0])[:-1], True),
                "prompt_ids": prompts[at],
                **{name: ids[at] for name, (_, ids) in encoded.items()},
                **({"label": int(row["label"])} if labelled else {}),
                **({"item": json.dumps(row)} if check else {}),
                "total_tokens": len(prompts[at]) + max(len(ids[at]) for _, ids in encoded.values()),
            }
            for at, row in enumerate(batch)
        ]

    answers = pairs.ANSWERS[job.shape]
    labelled = "label" in job.fields
    columns = {
        "prompt": "string",
        **dict.fromkeys(["prompt_ids", *(f"{answer}_ids" for answer in answers)], "ints"),
        **({"label": "int"} if labelled else {}),
        **({"item": "string"} if check else {}),
        "total_tokens": "int",
    }
    template = job.template
    key: list[object] = [
        "preferences",
        template.chat_template,
        template.stop,
        template.thinking,
        len(job.tokenizer),
    ]
    dataset, _ = rows.build_dataset(job, "pairs", columns, produce, key)
    totals = dataset.data.column("total_tokens").to_numpy()
    length = choose_length(job, totals)
    fitting = (totals <= length).nonzero()[0]
    if len(dataset) == 0:
        raise Failure("bad_dataset_row", "The dataset has no rows.", "Add rows to it.")
    if len(fitting) == 0:
        raise Failure(
            "bad_dataset_row",
            f"No row is left: every row is {too_long(job, dataset, totals, length)}.",
            more_room(job, length),
        )
    if len(fitting) < len(dataset):
        job.warn(
            "rows_left_out",
            f"{len(dataset) - len(fitting):,} of {len(dataset):,} rows are "
            f"{too_long(job, dataset, totals, length)} and are dropped.",
        )
        dataset = dataset.select(fitting)
    return dataset, length


def answers_of(job: Job, batch: list[Row], answer: pairs.Answer) -> tuple[list[list[int]], list[list[int]]]:
    """The token ids of each row's prompt, and of an answer of it with its end."""
    conversations = [pairs.conversation(row, answer) for row in batch]
    sequences = [one for (one,) in encode_conversations(job.tokenizer, job.template, conversations)]
    return (
        [one.input_ids[: one.prompt_tokens] for one in sequences],
        [one.input_ids[one.prompt_tokens :] for one in sequences],
    )


def label_weights(job: Job, training: Dataset) -> tuple[float, float]:
    """What right and wrong answers count, so that both count the same in sum, as Ethayarajh et al. 2024
    advise (equation 8: a ratio from 1 to 4/3, which is left as it is); warns of weights. Failure
    `bad_dataset_row` when all labels are the same."""
    right = sum(training["label"])
    wrong = len(training) - right
    if not right or not wrong:
        raise Failure(
            "bad_dataset_row",
            f"All {len(training):,} rows that are trained have the label {'true' if right else 'false'}.",
            SAME_LABELS,
        )
    if 1 <= right / wrong <= 4 / 3:
        return 1.0, 1.0
    weights = (wrong / right, 1.0) if right < wrong else (1.0, right / wrong)
    job.warn(
        "labels_weighted",
        f"{right:,} rows have the label true and {wrong:,} false. So that both count the same, each that is "
        f"{'true' if right < wrong else 'false'} counts {max(weights):.3g} times.",
    )
    return weights


def with_other_answers(dataset: Dataset, size: int) -> Dataset:
    """`dataset` with the completions of other rows as `KL_completion_ids`: of each step of `size` rows, each
    has that of the row before it, the first that of the last one."""
    from datasets import concatenate_datasets

    count = len(dataset)
    others = [
        max(0, at - 1) if at % size or at + 1 == count else min(at + size, count) - 1 for at in range(count)
    ]
    moved = dataset.select(others).select_columns("completion_ids")
    return concatenate_datasets([dataset, moved.rename_column("completion_ids", "KL_completion_ids")], axis=1)
