"""How many tokens of a row are trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer.job import Job


def choose_length(job: Job, totals: Any) -> int:
    """The job's max_seq_length, capped by what the model sees; for -1 what suits rows of `totals` tokens."""
    wanted, limit = job.settings.max_seq_length, job.template.context_length
    if limit is not None and wanted > limit:
        job.warn(
            "max_seq_length_capped",
            f"max_seq_length {wanted} is more than the {limit} tokens that the model sees; {limit} is used.",
        )
        wanted = limit
    return wanted if wanted > 0 else inferred_length(totals, limit)


def inferred_length(totals: Any, limit: int | None) -> int:
    """The 99.9th percentile of the rows' lengths, rounded up to a multiple of 8, at most `limit`."""
    import numpy

    if len(totals) == 0:
        return limit or 8
    length = int(-(-numpy.percentile(totals, 99.9, method="higher") // 8) * 8)
    return min(length, limit) if limit is not None else length


def longest(dataset: Any, columns: tuple[str, ...], count: int) -> list[int]:
    """The indices of the `count` rows whose lists in `columns` are longest together, longest first; fewer
    rows are repeated."""
    import numpy

    totals = sum(list_lengths(dataset, name) for name in columns)
    order = numpy.argsort(-totals, kind="stable")[:count].tolist()
    return [order[index % len(order)] for index in range(count)]


def list_lengths(dataset: Any, column: str) -> Any:
    """How long the list in `column` is in each row of `dataset`, without reading the lists."""
    import pyarrow.compute

    lengths = pyarrow.compute.list_value_length(dataset.data.column(column)).to_numpy()
    return lengths if dataset._indices is None else lengths[dataset._indices.column(0).to_numpy()]
