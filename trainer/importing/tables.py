"""Tables of Parquet and Arrow files, with texts for dates and for the labels of Hugging Face's datasets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trainer.importing.faults import Fault
from trainer.importing.source import Source
from trainer.importing.values import root_of

if TYPE_CHECKING:
    import pyarrow as pa

# The size of a batch of a file, as it is in the file.
BATCH_BYTES = 2**20
BATCH_ROWS = 4096


class Table(NamedTuple):
    """Rows as lists of the values of their columns."""

    names: list[str]
    columns: list[list[object]]
    # Whether every value is a text.
    is_text: bool

    def numbered(self, first: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows one by one, with their numbers."""
        rows = zip(*self.columns, strict=True)
        return (
            (number, dict(zip(self.names, values, strict=True))) for number, values in enumerate(rows, first)
        )

    def has_any(self, columns: Sequence[str]) -> bool:
        """Whether a row has one of these columns."""
        return any(column in self.names for column in columns)

    def texts(self, columns: list[str]) -> list[tuple[str, ...]] | None:
        """The values of these columns row by row; None if some are no text."""
        if not self.is_text or not set(columns) <= set(self.names):
            return None
        return list(zip(*(self.columns[self.names.index(column)] for column in columns), strict=True))


def read_tables(source: Source, scratch: Path, wanted: list[str] | None) -> Iterator[tuple[int, Table]]:
    """The rows of a Parquet or an Arrow file, many at a time with the number of the first.

    @param scratch where a compressed file is unpacked.
    @param wanted the only columns that are needed.
    @raises Fault for a damaged file.
    """
    import pyarrow as pa

    # It takes 30 MB less than the default, which keeps what was freed.
    pa.set_memory_pool(pa.system_memory_pool())
    path = source.path
    if source.compression is not None:
        path = scratch / f"{path.name}.{source.container}"
        with source.open() as packed, open(path, "wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, 2**20)
    number = 0
    batches = _parquet if source.container == "parquet" else _arrow
    try:
        for batch in batches(source, path, wanted):
            yield number + 1, _table(source, batch)
            number += batch.num_rows
            if source.total_rows is not None:
                source.fraction = number / max(1, source.total_rows)
    except UnicodeDecodeError as error:
        raise Fault(f"A text behind row {number} is not UTF-8 ({error.reason}).", number + 1) from None
    except (pa.ArrowException, OSError, ValueError) as error:
        behind = f" behind row {number}" if number else ""
        kind = "Parquet" if source.container == "parquet" else "Arrow"
        raise Fault(
            f"The {kind} file cannot be read{behind} ({str(error).splitlines()[0][:200]})."
            " It may be cut short or damaged: copy or download it again."
        ) from None


def _parquet(source: Source, path: Path, wanted: list[str] | None) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    # Without a buffer size, whole columns of a row group would be read at once.
    with parquet.ParquetFile(path, buffer_size=2**18, pre_buffer=False) as file:
        metadata = file.metadata
        source.total_rows, source.labels = metadata.num_rows, _labels(file.schema_arrow)
        names = _names(file.schema_arrow, wanted)
        total = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
        rows = max(1, min(BATCH_ROWS, BATCH_BYTES * metadata.num_rows // max(1, total)))
        yield from file.iter_batches(batch_size=rows, columns=names, use_threads=False)


def _arrow(source: Source, path: Path, wanted: list[str] | None) -> Iterator[pa.RecordBatch]:
    """Arrow's file and stream formats; what is not compressed is not copied into memory."""
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(str(path)) as mapped:
        is_file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        reader = ipc.open_file(mapped) if is_file else ipc.open_stream(mapped)
        source.labels = _labels(reader.schema)
        names = _names(reader.schema, wanted)
        indices = range(reader.num_record_batches) if is_file else None
        for batch in reader if indices is None else map(reader.get_batch, indices):
            size = max(1, batch.nbytes)
            rows = max(1, min(BATCH_ROWS, BATCH_BYTES * batch.num_rows // size))
            for start in range(0, batch.num_rows, rows):
                yield batch.select(names).slice(start, rows)
            source.fraction = min(1.0, mapped.tell() / max(1, mapped.size()))


def _names(schema: pa.Schema, wanted: list[str] | None) -> list[str]:
    roots = {root_of(column, schema.names) for column in wanted or ()}
    names = [name for name in schema.names if wanted is None or name in roots]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Fault(f'Two columns are named "{twice[:100]}". Rename one.', None, twice[:100])
    return names


def _labels(schema: pa.Schema) -> dict[str, list[str]]:
    """The names of the numbers of columns that are labels, as Hugging Face's datasets keep them."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {
            name: [str(one) for one in feature["names"]]
            for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def _table(source: Source, batch: pa.RecordBatch) -> Table:
    import pyarrow as pa

    def is_text(column: pa.Array) -> bool:
        return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))

    columns = [_decoded(column) for column in batch.columns]
    lists: list[list[object]] = []
    for name, column in zip(batch.schema.names, columns, strict=True):
        if is_text(column):
            lists.append(column.to_numpy(zero_copy_only=False).tolist())
        elif name in source.labels and source.label_names:
            lists.append([_label(source.labels[name], value) for value in column.to_pylist()])
        else:
            lists.append([_plain(value) for value in column.to_pylist()])
    has_gaps = any(column.null_count > 0 for column in columns)
    return Table(batch.schema.names, lists, is_text=all(map(is_text, columns)) and not has_gaps)


def _decoded(column: pa.Array) -> pa.Array:
    """A column without a dictionary, and with times that Python has."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_time64(column.type) and column.type.unit == "ns":
        column = column.cast(pa.time64("us"), safe=False)
    return column


def _label(names: list[str], value: object) -> object:
    """A label's name; -1 is what datasets have where there is none."""
    if not isinstance(value, int) or value == -1:
        return None if value == -1 else value
    return names[value] if 0 <= value < len(names) else value


def _plain(value: object) -> object:
    """A value as JSON has it; dates and times in their ISO form."""
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if isinstance(value, bytes) else str(value)
