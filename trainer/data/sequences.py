"""The sequences of tokens that a causal language model is trained on, made of the job's rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict, cast

from trainer.data import rows
from trainer.data.encode import IGNORED, Encoded, encode_conversations, encode_texts, whole_text
from trainer.data.lengths import choose_length, more_room, too_long
from trainer.data.template import render
from trainer.libraries.datasets import fingerprint
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from datasets import Dataset

    from trainer.data.job import Job
    from trainer.protocol.row import Row


def encoded_rows(job: Job) -> tuple[Dataset, int]:
    """The job's rows as tokens and labels, of at most the maximum length, which is returned too.

    Longer conversations are truncated, longer texts become several sequences. Failure `bad_dataset_row` when
    no token would have a label.
    """

    def produce(batch: list[Row]) -> list[rows.Produced]:
        return [
            [_record(sequence) for sequence in sequences] or None for sequences in sequences_of(job, batch)
        ]

    columns = {"input_ids": "ints", "labels": "ints", "prompt_tokens": "int", "total_tokens": "int"}
    template = job.template
    key: list[object] = [job.shape, job.task.name, template.chat_template, template.stop, template.thinking]
    key.append(len(job.tokenizer))
    dataset, left_out = rows.build_dataset(job, "rows", columns, produce, key)
    if len(dataset) == 0:
        raise Failure("bad_dataset_row", "The dataset has no rows with text.", "Add rows to it.")
    if left_out:
        job.warn("rows_left_out", f"{left_out:,} rows without text are dropped.")
    count = len(set(rows.row_numbers(dataset)))
    if count < len(dataset):
        job.warn("conversations_split", split_warning(count, len(dataset)))
    totals = dataset.data.column("total_tokens").to_numpy()
    prompt_lengths = dataset.data.column("prompt_tokens").to_numpy()
    length = choose_length(job, totals)
    cut, useless = int((totals > length).sum()), int((prompt_lengths >= length).sum())
    if useless == len(dataset):
        raise Failure(
            "bad_dataset_row",
            "Nothing of any answer is left, because every prompt alone is too long. Rows are "
            f"{too_long(job, dataset, totals, length)}.",
            more_room(job, length),
        )
    if cut and job.shape == "text":
        dataset = _changed(dataset, length, job, _split_texts)
    elif cut:
        job.warn(
            "rows_truncated",
            f"{cut:,} of {len(dataset):,} rows are {too_long(job, dataset, totals, length)} and are "
            f"truncated; {useless:,} of them lose their whole answer and are dropped.",
        )
        dataset = _changed(dataset, length, job, _cut)
    return dataset, length


def sequences_of(job: Job, batch: list[Row]) -> list[list[Encoded]]:
    """The sequences that each row becomes; none for a text without tokens."""
    if job.shape == "text":
        encoded = encode_texts(job.tokenizer, [row["text"] for row in batch])
        return [[row] if row.prompt_tokens < len(row.input_ids) else [] for row in encoded]
    if job.shape == "prompt":
        # What follows is the model's own.
        ids = job.tokenizer(prompts_of(job, batch), add_special_tokens=False).input_ids
        return [[Encoded(row, [IGNORED] * len(row))] for row in ids]
    return encode_conversations(job.tokenizer, job.template, [job.conversation(row) for row in batch])


def prompts_of(job: Job, batch: list[Row]) -> list[str]:
    """The text that each row's answer follows."""
    return [render(job.template, job.messages(row)[:-1], True) for row in batch]


def split_warning(conversations: int, sequences: int) -> str:
    """What to say where conversations become more than one sequence each."""
    return (
        f"{conversations:,} conversations are trained as {sequences:,} sequences, because the model's chat "
        "template or tokenizer writes earlier turns differently once a conversation goes on. Each sequence "
        "has the text before its answer as the playground sends it."
    )


def _record(sequence: Encoded) -> Sequenced:
    return {
        "input_ids": sequence.input_ids,
        "labels": sequence.labels,
        "prompt_tokens": sequence.prompt_tokens,
        "total_tokens": len(sequence.input_ids),
    }


def _changed(
    dataset: Dataset, length: int, job: Job, change: Callable[[Tokens, int], list[Tokens]]
) -> Dataset:
    """`dataset` with what `change` makes of each of its rows for sequences of `length` tokens."""

    def batch_of(batch: dict[str, list[object]], numbers: list[int]) -> dict[str, list[object]]:
        job.beat_or_stop()
        if numbers[0] and numbers[0] % rows.CHUNK_ROWS == 0:
            rows.report_progress(job, numbers[0], "cut")
        old = [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]
        new: list[Mapping[str, object]] = []
        for row in old:
            new += change(cast("Tokens", row), length)
        return {name: [record[name] for record in new] for name in batch}

    name = f"cut-{fingerprint(dataset)}-{length}"
    return dataset.map(
        batch_of,
        batched=True,
        with_indices=True,
        cache_file_name=str(job.folder / "cache" / f"{name}.arrow"),
        new_fingerprint=name,
        load_from_cache_file=True,
    )


class Sequenced(TypedDict):
    """A sequence as the dataset has it."""

    input_ids: list[int]
    labels: list[int]
    prompt_tokens: int
    total_tokens: int


class Tokens(Sequenced):
    """A row of the dataset: a sequence, and the number of its row."""

    row: int


def _cut(row: Tokens, length: int) -> list[Tokens]:
    """The first `length` tokens of a row, or nothing where none of them is learned."""
    if row["prompt_tokens"] >= length:
        return []
    return [{**row, "input_ids": row["input_ids"][:length], "labels": row["labels"][:length]}]


def _split_texts(row: Tokens, length: int) -> list[Tokens]:
    """A text in sequences of `length` tokens. Each begins with the last token of the one before, because its
    first token is not learned."""
    ids = row["input_ids"]
    return [
        {"row": row["row"], **_record(whole_text(ids[start : start + length]))}
        for start in range(0, max(1, len(ids) - 1), length - 1)
    ]
