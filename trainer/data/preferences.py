"""Preference pairs as tokens: a prompt, a chosen and a rejected answer."""

from __future__ import annotations

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


def encoded_pairs(job: Job) -> tuple[Dataset, int]:
    """The job's rows as `prompt` (the rendered text), `prompt_ids`, `chosen_ids` and `rejected_ids` (answers
    with their end-of-turn token), and the maximum length of a prompt with its answer.

    Longer rows are dropped, because a preference does not hold for a truncated answer. Failure
    `bad_dataset_row` when none is left.
    """

    def produce(batch: list[Row]) -> list[rows.Produced]:
        (_, chosen), (prompts, rejected) = (
            answers_of(job, batch, answer) for answer in ("chosen", "rejected")
        )
        return [
            {
                "prompt": render(job.template, pairs.messages(job.template, row)[:-1], True),
                "prompt_ids": prompt,
                "chosen_ids": better,
                "rejected_ids": worse,
                "total_tokens": len(prompt) + max(len(better), len(worse)),
            }
            for row, prompt, better, worse in zip(batch, prompts, chosen, rejected, strict=True)
        ]

    lists = {"prompt_ids": "ints", "chosen_ids": "ints", "rejected_ids": "ints"}
    columns = {"prompt": "string", **lists, "total_tokens": "int"}
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
    """The token ids of each row's prompt, and of its `chosen` or `rejected` answer with its end."""
    conversations = [pairs.conversation(row, answer) for row in batch]
    sequences = [one for (one,) in encode_conversations(job.tokenizer, job.template, conversations)]
    return (
        [one.input_ids[: one.prompt_tokens] for one in sequences],
        [one.input_ids[one.prompt_tokens :] for one in sequences],
    )
