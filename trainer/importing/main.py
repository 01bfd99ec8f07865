"""`python -m trainer import`: looks at a dataset of another format, or prints its rows as JSONL.

The request, `Request` as JSON, comes from standard input. Rows go to standard output. Standard error has one
JSON object a line: `proposal`, `count`, `problem`, `progress`, and at the end `end` or `failed`.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.abc import MetaPathFinder
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from trainer.importing.containers import Batch, read_parts, read_rows
from trainer.importing.faults import BadRow, Fault
from trainer.importing.limits import MAXIMUM_ROW_BYTES
from trainer.importing.proposal import propose
from trainer.importing.shapes import Conversion, Row, conversion_of
from trainer.importing.source import Source
from trainer.importing.tables import Table
from trainer.importing.values import columns_of, value_at

# Rows that are looked at to find their shape and columns, and those that are shown.
HEAD_ROWS = 20
SAMPLES = 3
# Problems that are reported one by one; of more, only their number.
TOLD_PROBLEMS = 100
# Containers whose rows are numbered; those of the others have lines, unless all are in one.
TABLES = ("parquet", "arrow")
# Reasons that are counted, and those that are reported.
MAXIMUM_COSTS, TOLD_COSTS = 1000, 10
# Before an import starts, its rows are converted until about so many bytes of them were.
COUNTED_BYTES = 2**23
# Rows are written in pieces of about this size.
PIECE_BYTES = 2**18
PROGRESS_SECONDS = 0.2
# Of a sample, this much of a text, a list and its levels is shown.
SHOWN_CHARACTERS, SHOWN_ITEMS, SHOWN_LEVELS = 2000, 20, 6


class Request(msgspec.Struct):
    """What to import: files of one container, and how."""

    paths: list[str]
    # A folder for a compressed Parquet file, which is unpacked.
    scratch: str
    # The most bytes that a gzip file may expand to.
    limit_bytes: int
    # `target`, a row shape, and `columns`, those of its fields; None for the detected shape.
    mapping: dict[str, Any] | None
    # Whether to print all rows, and not only a proposal.
    run: bool
    skip_invalid: bool
    # The keys of the list of rows, with dots, where one JSON object has several; None for the longest.
    rows_at: str | None = None


class _Import:
    def __init__(self, request: Request):
        self.request = request
        self.rows = self.skipped = self.problems = 0
        self.told_at = time.monotonic()
        # What the numbers of rows count.
        self.unit: Literal["line", "row"] = "line"
        # How many rows do not fit, by column and reason.
        self.costs: Counter[tuple[str | None, str]] = Counter()

    def report(self, event: str, **fields: object) -> None:
        # As ASCII: newer releases of Node divide lines at U+2028 as well.
        sys.stderr.buffer.write(json.dumps({"event": event, **fields}).encode() + b"\n")
        sys.stderr.buffer.flush()

    def run(self) -> None:
        paths = [Path(path) for path in self.request.paths]
        limit = self.request.limit_bytes
        first = Source(paths[0], limit, self.request.rows_at)
        self.total_bytes = sum(path.stat().st_size for path in paths)
        conversion = self._propose(first)
        if not self.request.run:
            self._count(first, conversion)
            return
        if conversion is None:
            raise Fault("The columns are in no known format: choose which column each field is taken from.")
        read_bytes = 0
        for path in paths:
            source = first if path == paths[0] else Source(path, limit, self.request.rows_at)
            source.label_names = self._label_names()
            if source.container != first.container:
                raise Fault(f"{path.name} is {source.container}, and {paths[0].name} is {first.container}.")
            self._print_rows(source, conversion, read_bytes)
            read_bytes += source.size
        self._progress(read_bytes)
        self.report(
            "end", rows=self.rows, skipped=self.skipped, problems=self.problems, left_out=self._costs()
        )

    def _label_names(self) -> bool:
        return (self.request.mapping or {}).get("labels") != "numbers"

    def _count(self, source: Source, conversion: Conversion | None) -> None:
        """Tells how many rows there are, and how many of the first ones fit."""
        fault, size = None, 0
        share: float | None = None
        try:
            for lines, _ in self._converted(source, conversion):
                size += len(lines)
                done = source.done_bytes()
                if (size > COUNTED_BYTES or done > 8 * COUNTED_BYTES) and done < source.size:
                    share = done / source.size
                    break
        except Fault as stopped:
            fault = stopped.message
        checked = self.rows + self.problems
        rows = checked if share is None else round(checked / share)
        if source.total_rows is not None and fault is None:
            rows, share = source.total_rows, None
        # The other files are taken to be like the first.
        is_exact = share is None and fault is None and len(self.request.paths) == 1
        self.report(
            "count",
            rows=round(rows * self.total_bytes / source.size),
            is_exact=is_exact,
            checked=checked,
            fit=None if conversion is None else self.rows,
            left_out=self._costs(),
            fault=fault,
        )

    def _costs(self) -> list[dict[str, object]]:
        """What most of the rows that do not fit have in common."""
        return [
            {"column": column, "message": message, "rows": rows}
            for (column, message), rows in self.costs.most_common(TOLD_COSTS)
        ]

    def _propose(self, source: Source) -> Conversion | None:
        """Tells what the source is. @returns the conversion, or None where a mapping must be chosen."""
        source.label_names = self._label_names()
        head = list(islice(read_rows(source, Path(self.request.scratch)), HEAD_ROWS))
        rows = [row for _, row in head if isinstance(row, dict)]
        if not head:
            raise Fault("The file has no rows.")
        if source.container in TABLES or (len(head) > 1 and head[0][0] == head[-1][0]):
            self.unit = "row"
            head = [(number, row) for number, (_, row) in enumerate(head, 1)]
        if not rows:
            number, bad = head[0]
            assert isinstance(bad, BadRow)
            raise Fault(self._place(source, number, bad.message), number)
        columns = columns_of(rows)
        mapping: Mapping[str, Any] | None = self.request.mapping
        conversion = conversion_of(mapping, columns, rows[0])
        is_guess = False
        if conversion is None and (proposed := propose(columns, rows)) is not None:
            mapping, is_guess = proposed
            conversion = conversion_of(mapping, columns, rows[0])
        self.report(
            "proposal",
            container=source.container,
            unit=self.unit,
            compression=source.compression,
            shape=conversion.shape if conversion else "columns",
            target=conversion.target if conversion else None,
            mapping=mapping,
            used=conversion.columns if conversion else [],
            guessed=is_guess,
            rows_at=".".join(source.rows_at) or None,
            lists=[{"key": key, "rows": rows} for key, rows in source.lists.items()],
            columns=[
                {"name": name, "type": "label" if name in source.labels else _kind_of(rows, name)}
                for name in columns
            ],
            samples=[self._sample(source, number, row, conversion) for number, row in head[:SAMPLES]],
            total_bytes=self.total_bytes,
        )
        return conversion

    def _sample(
        self, source: Source, number: int, row: Row | BadRow, conversion: Conversion | None
    ) -> dict[str, object]:
        before = None if isinstance(row, BadRow) else _shown(row)
        after = problem = None
        try:
            if isinstance(row, BadRow):
                raise row
            after = _shown(conversion.convert(row)) if conversion else None
        except BadRow as bad:
            problem = self._place(source, number, bad.message)
        return {"row": number, "before": before, "after": after, "problem": problem}

    def _print_rows(self, source: Source, conversion: Conversion, read_bytes: int) -> None:
        write = sys.stdout.buffer.write
        piece = bytearray()
        for lines, _ in self._converted(source, conversion):
            # Once the import has failed, only its faults are of interest.
            if self.problems > 0 and not self.request.skip_invalid:
                continue
            piece += lines
            if len(piece) >= PIECE_BYTES:
                write(piece)
                piece = bytearray()
                if time.monotonic() - self.told_at > PROGRESS_SECONDS:
                    self._progress(read_bytes + source.done_bytes())
        write(piece)
        sys.stdout.buffer.flush()

    def _converted(self, source: Source, conversion: Conversion | None) -> Iterator[tuple[bytes, int]]:
        """Converted rows as lines of JSON, one or many with their number; others are noted.

        @param conversion None for the rows as they are.
        """
        encode = msgspec.json.Encoder().encode
        is_table = source.container in TABLES
        columns = conversion.columns if conversion and (conversion.flat or is_table) else None
        convert = conversion.convert if conversion else dict[str, Any]
        before = self.rows + self.problems
        for start, part in read_parts(source, Path(self.request.scratch), columns):
            rows: Iterable[tuple[int, dict[str, Any] | BadRow]]
            if isinstance(part, Table | Batch):
                found = _lines(part, conversion) if conversion else None
                if found is not None:
                    self.rows += found[1]
                    yield found
                    continue
                rows = part.numbered(start)
            else:
                rows = ((start, part),)
            for number, row in rows:
                if self.unit == "row":
                    number = self.rows + self.problems - before + 1
                try:
                    if isinstance(row, BadRow):
                        raise row
                    line = encode(convert(row))
                    if len(line) > MAXIMUM_ROW_BYTES:
                        raise BadRow(f"longer than {MAXIMUM_ROW_BYTES} bytes; split the row")
                except (BadRow, UnicodeEncodeError) as error:
                    self._note(source, number, error)
                else:
                    self.rows += 1
                    yield line + b"\n", 1

    def _note(self, source: Source, number: int, error: BadRow | UnicodeEncodeError) -> None:
        self.problems += 1
        self.skipped += self.request.skip_invalid
        if isinstance(error, BadRow):
            message, column = error.message, error.column
        else:
            message, column = "has half of a surrogate pair, which is no character; remove it", None
        if len(self.costs) < MAXIMUM_COSTS or (column, message) in self.costs:
            self.costs[column, message] += 1
        if self.problems <= TOLD_PROBLEMS and self.request.run:
            self.report("problem", line=number, column=column, message=self._place(source, number, message))

    def _place(self, source: Source, number: int, message: str) -> str:
        among = f" of {source.path.name}" if len(self.request.paths) > 1 else ""
        return f"{self.unit.capitalize()} {number}{among}: {message}"

    def _progress(self, done_bytes: int) -> None:
        self.told_at = time.monotonic()
        self.report("progress", done_bytes=done_bytes, rows=self.rows, skipped=self.skipped)


def _lines(part: Table | Batch, conversion: Conversion) -> tuple[bytes, int] | None:
    """The rows of a part as lines of JSON, which takes half as long as one by one, and their number.

    @returns None where a row may be at fault.
    """
    fields = conversion.fields
    texts = None if fields is None else part.texts(list(fields.values()))
    if fields is None or texts is None or part.has_any(conversion.optional):
        return None
    rows = [dict(zip(fields, values, strict=True)) for values in texts]
    try:
        lines = msgspec.json.Encoder().encode_lines(rows)
    except UnicodeEncodeError:
        return None
    return (lines, len(rows)) if len(lines) <= MAXIMUM_ROW_BYTES else None


def _kind_of(rows: list[dict[str, Any]], name: str) -> str:
    """The kind of a column's first value."""
    value = next((found for row in rows if (found := value_at(row, name)) is not None), None)
    kinds: Iterator[tuple[type | tuple[type, ...], str]] = iter(
        ((str, "text"), (bool, "boolean"), ((int, float), "number"), (list, "list"), (dict, "object"))
    )
    return next(
        (kind for types, kind in kinds if isinstance(value, types)), "empty" if value is None else "other"
    )


def _shown(value: object, levels: int = SHOWN_LEVELS) -> object:
    """A value in part, as it is displayed."""
    if isinstance(value, str):
        shown = value.encode("utf-8", "replace").decode()
        more = f"… ({len(shown):,} characters)" if len(shown) > SHOWN_CHARACTERS else ""
        return shown[:SHOWN_CHARACTERS] + more
    if value is None or isinstance(value, bool | int):
        # JSON in a browser has no larger integers.
        return value if value is None or abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if levels == 0:
        return "…"
    if isinstance(value, dict):
        return {_shown(str(name)): _shown(one, levels - 1) for name, one in islice(value.items(), 64)}
    if isinstance(value, list):
        items = [_shown(one, levels - 1) for one in value[:SHOWN_ITEMS]]
        return [*items, "…"] if len(value) > SHOWN_ITEMS else items
    return f"({len(value):,} bytes)" if isinstance(value, bytes) else str(value)[:SHOWN_CHARACTERS]


class _WithoutPandas(MetaPathFinder):
    """To make a list of a column, pyarrow imports pandas if there is one, which takes 60 MB and 0.4 s."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(f"{fullname} is not needed", name=fullname)


def main() -> int:
    """Runs one import. @returns the exit status: 0 wherever `end`, `failed` or a proposal was reported."""
    sys.meta_path.insert(0, _WithoutPandas())
    work = _Import(msgspec.json.decode(sys.stdin.buffer.read(), type=Request))
    try:
        work.run()
    except Fault as fault:
        work.report("failed", line=fault.line, column=fault.column, message=fault.message)
    except BrokenPipeError:
        return 1
    return 0
