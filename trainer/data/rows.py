"""The job's rows: read line by line, tokenized in batches, stored in a memory-mapped file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trainer import imports
from trainer.data import conversations, pairs
from trainer.data.steps import held_out_rows
from trainer.libraries.datasets import in_row_order
from trainer.model import vocabulary
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    import numpy as np
    from datasets import Dataset, Features
    from numpy.typing import NDArray
    from pyarrow import ChunkedArray

    from trainer.data.job import Job
    from trainer.protocol.row import Row

# The records of a row: one, several, or none.
Record = Mapping[str, object]
Produced = Record | Sequence[Record] | None
Made = TypeVar("Made")

# Rows of a batch; larger ones are no faster and delay a stop.
BATCH_ROWS = 256
# Rows that are packed at once, in about a second.
CHUNK_ROWS = 10_000


def read_rows(
    path: str | os.PathLike[str], fields: tuple[str, ...], dataset: str = "dataset"
) -> Iterator[tuple[int, Row]]:
    """Each row with its line number (from 1); Failure `bad_dataset_row` names the line and the field.

    `dataset` is what messages call the file.
    """
    with open(path, encoding="utf-8-sig") as file:
        lines = enumerate(file, 1)
        while True:
            try:
                number, line = next(lines)
            except StopIteration:
                return
            except UnicodeDecodeError as error:
                raise _bad(None, dataset, f"it is not UTF-8: {error.reason}", "Save it as UTF-8.") from error
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise _bad(number, dataset, f"not JSON: {error}", "Write one JSON object a line.") from error
            for name in fields:
                value = row.get(name) if isinstance(row, dict) else None
                wrong = _wrong(name, value)
                if wrong is not None:
                    found = (
                        "an object without it" if isinstance(row, dict) and name not in row else repr(value)
                    )
                    raise _bad(
                        number,
                        dataset,
                        f"the field {name} {wrong}, found {found[:80]}",
                        "Correct it.",
                    )
            yield number, row


def job_rows(job: Job) -> Iterator[tuple[int, Row]]:
    """The rows of the dataset with their line numbers (from 1), then those of the validation dataset, if the
    job has one, with their line numbers negated."""
    yield from read_rows(job.spec.dataset.path, job.fields)
    if job.spec.validation is not None:
        for number, row in read_rows(job.spec.validation.path, job.fields, "validation dataset"):
            yield -number, row


def row_at(job: Job, numbers: list[int]) -> list[Row]:
    """The rows that `job_rows` numbers so, in the given order."""
    wanted, found = set(numbers), {}
    for count, (number, row) in enumerate(job_rows(job)):
        if count % BATCH_ROWS == 0:
            job.beat_or_stop()
        if number in wanted:
            found[number] = row
            if len(found) == len(wanted):
                break
    return [found[number] for number in numbers]


def build_dataset(
    job: Job,
    name: str,
    columns: dict[str, str],
    produce: Callable[[list[Row]], list[Produced]],
    key: list[object],
) -> tuple[Dataset, int]:
    """A memory-mapped Dataset of the job's rows, and the number of rows that were dropped.

    `produce` turns each row of a batch into a record with the fields of `columns` (a name to `int`, `ints` or
    `string`), or into several, or None for a row to drop. A Failure of it names the row's line. Each record
    also gets `row`, its number (`job_rows`). A resumed job reuses what was built with an equal `key`.
    """
    from datasets import Dataset, Features, Sequence, Value

    # From here on objects are made that come and go.
    imports.end()
    kinds = {"int": Value("int32"), "ints": Sequence(Value("int32")), "string": Value("string")}
    features = Features({"row": Value("int64"), **{column: kinds[kind] for column, kind in columns.items()}})
    sizes = [Path(file.path).stat().st_size for file in (job.spec.dataset, job.spec.validation) if file]
    digest = hashlib.sha256(json.dumps([*key, *sizes, columns], default=str).encode()).hexdigest()[:16]
    cache = job.folder / "cache"
    cache.mkdir(exist_ok=True)
    path, note = cache / f"{name}-{digest}.arrow", cache / f"{name}-{digest}.json"
    with job.rank.in_turn():
        if not (path.exists() and note.exists()):
            _write_dataset(job, path, note, features, produce)
    return Dataset.from_file(str(path)), json.loads(note.read_text(encoding="utf-8"))["left_out"]


def _write_dataset(
    job: Job, path: Path, note: Path, features: Features, produce: Callable[[list[Row]], list[Produced]]
) -> None:
    """Writes the rows and, last, the note that says that they are complete."""
    from datasets.arrow_writer import ArrowWriter

    left_out = 0
    writer = ArrowWriter(features=features, path=str(path) + ".tmp", writer_batch_size=1000)
    rows = job_rows(job)
    produce = vocabulary.checked(job.tokenizer, job.config, produce)
    done, report = 0, reporter(job, "as tokens")
    while batch := list(islice(rows, BATCH_ROWS)):
        job.beat_or_stop()
        for (number, _), produced in zip(batch, in_rows(batch, produce), strict=True):
            left_out += produced is None
            for record in [produced] if isinstance(produced, Mapping) else produced or ():
                writer.write({"row": number, **record})
        done += len(batch)
        report(done)
    writer.finalize()
    os.replace(str(path) + ".tmp", path)
    note.write_text(json.dumps({"left_out": left_out}), encoding="utf-8")


def in_rows(batch: list[tuple[int, Row]], produce: Callable[[list[Row]], list[Made]]) -> list[Made]:
    """What `produce` makes of the rows; a Failure of it names the line of the first row that has it."""
    try:
        return produce([row for _, row in batch])
    except Failure:
        for number, row in batch:
            try:
                produce([row])
            except Failure as failure:
                file = "dataset" if number > 0 else "validation dataset"
                message = f"Line {abs(number)} of the {file}: {failure.message}"
                raise Failure(failure.code, message, failure.advice, failure.evidence) from failure
        raise


def pack(job: Job, dataset: Dataset, length: int) -> Dataset:
    """`dataset` (`input_ids`, `labels`) packed into rows of at most `length` tokens by best-fit decreasing,
    with `seq_lengths` that separate the original rows. Works in chunks, to report progress and to stop."""
    from datasets import concatenate_datasets
    from trl import pack_dataset

    # The library packs 1,000 rows at a time, so chunks of whole thousands give the same result. At most 100
    # chunks, because each is a file that stays open.
    size = max(CHUNK_ROWS, -(-len(dataset) // (100 * 1000)) * 1000)
    pieces = []
    with job.rank.in_turn():
        for start in range(0, len(dataset), size):
            end = min(start + size, len(dataset))
            job.beat_or_stop()
            pieces.append(pack_dataset(dataset.select(range(start, end)), length, "bfd"))
            if len(dataset) > size:
                report_progress(job, end, "packed")
    return concatenate_datasets(pieces)


def reporter(job: Job, what: str) -> Callable[[int], None]:
    """A function that reports how many of the job's rows are done, unless it did so just before."""
    report, total = job.reports("load"), _rows_of(job)

    def progress(done: int) -> None:
        if done < total:
            report(done / total, f"dataset: {done:,} of {total:,} rows {what}")

    return progress


def report_progress(job: Job, done: int, what: str) -> None:
    """Reports how many of the job's rows are done."""
    total = max(_rows_of(job), done)
    job.phase("load", done / total, f"dataset: {done:,} of {total:,} rows {what}")


def _rows_of(job: Job) -> int:
    """The number of rows of the job's datasets."""
    validation = job.spec.validation
    return job.spec.dataset.rows + (validation.rows if validation else 0)


def training_and_held_out(job: Job, dataset: Dataset) -> tuple[Dataset, Dataset | None]:
    """The rows of `dataset` (`build_dataset`) to train on, and those held out for validation: the rows of the
    validation dataset, or a random part by `eval_split`, or None. Each has at least one row."""
    settings = job.settings
    if job.spec.validation is None:
        if not settings.eval_split:
            return dataset, None
        with job.rank.in_turn():
            return random_split(dataset, settings.eval_split, settings.seed)
    numbers = row_numbers(dataset)
    # Those of the validation dataset follow the others.
    trained = int((numbers > 0).sum())
    for count, name in ((trained, "dataset"), (len(dataset) - trained, "validation dataset")):
        if count == 0:
            raise Failure(
                "bad_dataset_row",
                f"No row of the {name} is usable; the warnings say why rows were dropped.",
                "Raise max_seq_length, or add shorter rows.",
            )
    parts = dataset.select(range(trained)), dataset.select(range(trained, len(dataset)))
    _warn_of_overlap(job, *parts)
    return parts


def _warn_of_overlap(job: Job, training: Dataset, held_out: Dataset) -> None:
    """Warns of rows of the validation dataset that are trained on, too."""
    import numpy

    contents = row_contents(held_out)
    known = int(numpy.isin(contents, row_contents(training)).sum())
    if known > 0:
        job.warn(
            "validation_overlap",
            f"{known:,} of the {len(contents):,} validation rows {'is' if known == 1 else 'are'} also in the "
            "training dataset, so the figures are better than they would be on new rows.",
        )


def random_split(dataset: Dataset, share: float, seed: int) -> tuple[Dataset, Dataset]:
    """`dataset` without a random `share` of its rows, and that share, each with at least one row. All
    sequences of a row are in the same part. So are equal rows: their answers would have been learned."""
    import numpy

    numbers = row_numbers(dataset)
    rows = numpy.unique(numbers)
    if len(rows) < 2:
        raise Failure(
            "bad_dataset_row",
            "eval_split needs at least two usable rows, one for each split.",
            "Set eval_split to 0, or add rows.",
        )
    held_out = held_out_rows(len(rows), share)
    _, groups, sizes = numpy.unique(row_contents(dataset), return_inverse=True, return_counts=True)
    repeats = 1 < len(sizes) < len(rows)
    if not repeats and len(rows) == len(dataset):
        parts = dataset.train_test_split(test_size=held_out, seed=seed, shuffle=True)
        return parts["train"], parts["test"]
    order = numpy.random.default_rng(seed).permutation(len(rows))
    chosen = _whole_groups(groups, sizes, order, held_out) if repeats else order[:held_out]
    is_held_out = numpy.isin(numbers, rows[chosen])
    return tuple(dataset.select(numpy.flatnonzero(part)) for part in (~is_held_out, is_held_out))


def _whole_groups(
    groups: NDArray[np.int64], sizes: NDArray[np.int64], order: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """The indices of up to `count` rows, taken in `order`, in whole groups: `groups` has each row's group,
    and `sizes` their numbers of rows. If no group is so small, those of the smallest."""
    import numpy

    taken = numpy.zeros(len(sizes), dtype=bool)
    seen = taken.copy()
    for group in groups[order]:
        if not seen[group] and sizes[group] <= count:
            taken[group] = True
            count -= sizes[group]
        seen[group] = True
    if not taken.any():
        taken[sizes.argmin()] = True
    return numpy.flatnonzero(taken[groups])


def row_contents(dataset: Dataset) -> NDArray[np.uint64]:
    """A number for each row of `dataset`, by ascending row number: 64 bits of a digest of all that its
    sequences have. Rows that are equal to a training have the same."""
    import numpy

    found: dict[int, int] = {}
    names = [name for name in dataset.column_names if name != "row"]
    for batch in dataset.with_format("arrow").iter(10_000):
        columns = [_contents(batch.column(name)) for name in names]
        for index, number in enumerate(batch.column("row").to_pylist()):
            digest = hashlib.blake2b(found.get(number, 0).to_bytes(8, "little"), digest_size=8)
            for column in columns:
                content = column(index)
                digest.update(len(content).to_bytes(8, "little") + content)
            found[number] = int.from_bytes(digest.digest(), "little")
    return numpy.array([found[number] for number in sorted(found)], dtype=numpy.uint64)


def _contents(column: ChunkedArray) -> Callable[[int], bytes]:
    """What a column of a table has at an index, as bytes."""
    import pyarrow

    array = column.combine_chunks()
    if isinstance(array, pyarrow.ChunkedArray):
        array = pyarrow.concat_arrays(array.chunks)
    if not pyarrow.types.is_list(array.type):
        values = array.to_pylist()
        return lambda index: repr(values[index]).encode()
    ends, numbers = array.offsets.to_numpy(), array.values.to_numpy()
    return lambda index: numbers[ends[index] : ends[index + 1]].tobytes()


def row_numbers(dataset: Dataset) -> NDArray[np.int64]:
    """The number (`job_rows`) of the row that each sequence of `dataset` is of."""
    return in_row_order(dataset, dataset.data.column("row").to_numpy())


def _wrong(name: str, value: object) -> str | None:
    """What a field's value must be and is not, or None."""
    if name == "messages":
        return conversations.fault(value)
    if name == "label":
        return None if isinstance(value, bool) else "must be true or false"
    if name in ("prompt", "chosen", "rejected", "completion"):
        return pairs.fault(name, value)
    return None if isinstance(value, str) else "must be a string"


def _bad(line: int | None, dataset: str, what: str, advice: str) -> Failure:
    """A Failure for a row, or for the whole file."""
    where = f"The {dataset}" if line is None else f"Line {line} of the {dataset}"
    return Failure("bad_dataset_row", f"{where}: {what}.", advice)
