"""The maximum sequence length, and which rows are longest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainer.data.encode import IGNORED
from trainer.libraries.datasets import in_row_order

if TYPE_CHECKING:
    import numpy as np
    from datasets import Dataset
    from pyarrow import Array

    from trainer.data.job import Job


def choose_length(job: Job, totals: np.ndarray | Sequence[int]) -> int:
    """The job's max_seq_length, at most the model's context; -1 infers it from the rows' lengths `totals`."""
    wanted, limit = job.settings.max_seq_length, job.template.context_length
    if limit is not None and wanted > limit:
        job.warn(
            "max_seq_length_capped",
            f"max_seq_length {wanted} is more than the model's context of {limit} tokens; {limit} is used.",
        )
        wanted = limit
    return wanted if wanted > 0 else inferred_length(totals, limit)


def inferred_length(totals: np.ndarray | Sequence[int], limit: int | None) -> int:
    """The 99.9th percentile of the rows' lengths, rounded up to a multiple of 8, at most `limit`."""
    import numpy

    if len(totals) == 0:
        return limit or 8
    length = int(-(-numpy.percentile(totals, 99.9, method="higher") // 8) * 8)
    return min(length, limit) if limit is not None else length


def too_long(job: Job, dataset: Dataset, totals: np.ndarray, length: int) -> str:
    """What the rows of `dataset` (`totals` tokens each) of more than `length` tokens are, for a message."""
    most = int(totals.argmax())
    number = int(dataset[most]["row"])
    line = f"line {number}" if number > 0 else f"line {-number} of the validation dataset"
    return f"longer than {limit_words(job, length)} ({line} has {int(totals[most]):,})"


def limit_words(job: Job, length: int) -> str:
    """What `length` is, for a message."""
    tokens = f"{length:,} tokens"
    return f"the model's context of {tokens}" if length == job.template.context_length else tokens


def more_room(job: Job, length: int) -> str:
    """What to do about rows that are too long, for a failure's advice."""
    if length == job.template.context_length:
        return "Choose a model with a longer context, or add shorter rows."
    return "Raise max_seq_length, or add shorter rows."


def longest(dataset: Dataset, columns: tuple[str, ...], count: int) -> list[int]:
    """The indices of the `count` rows with the longest lists in `columns` in total, longest first. With
    fewer rows, indices repeat."""
    import numpy

    totals = sum(list_lengths(dataset, name) for name in columns)
    order = numpy.argsort(-totals, kind="stable")[:count].tolist()
    return [order[index % len(order)] for index in range(count)]


def list_lengths(dataset: Dataset, column: str) -> np.ndarray:
    """The length of the list in `column` of each row, without reading the lists."""
    import pyarrow.compute

    lengths = pyarrow.compute.list_value_length(dataset.data.column(column)).to_numpy()
    return in_row_order(dataset, lengths)


def labelled_counts(dataset: Dataset) -> np.ndarray:
    """The number of tokens with a label of each row, from its column `labels`."""
    import numpy

    counts = [_labelled(chunk) for chunk in dataset.data.column("labels").chunks]
    found = numpy.concatenate([numpy.zeros(0, int), *counts])
    return in_row_order(dataset, found)


def _labelled(chunk: Array) -> np.ndarray:
    """The same for the lists of an Arrow array."""
    import numpy

    offsets = chunk.offsets.to_numpy()
    before = numpy.concatenate([[0], numpy.cumsum(chunk.values.to_numpy()[: offsets[-1]] != IGNORED)])
    return before[offsets[1:]] - before[offsets[:-1]]
