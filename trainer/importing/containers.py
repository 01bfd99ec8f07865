"""The rows of each container, one after the other, in memory bounded by the longest row."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import msgspec

from trainer.importing.faults import BadRow, Fault
from trainer.importing.json_window import JsonWindow, seek
from trainer.importing.limits import MAXIMUM_ROW_BYTES
from trainer.importing.source import Source
from trainer.importing.tables import Table, read_tables

if TYPE_CHECKING:
    import _csv

# Bytes of a block of CSV for pyarrow, and the longest row that it reads; csv reads longer ones.
CSV_BLOCK_BYTES = 2**19
# How an object in an array begins behind the one before: with a comma and, mostly, the same first key.
NEXT_OBJECT = re.compile(r"[ \t\r\n]*,[ \t\r\n]*\{[ \t\r\n]*\"[^\"\\\\]*\"")
# Characters of a JSON array that are decoded at once.
BATCH_CHARACTERS = 2**17

# A row with its line (its number, in Parquet), or why it cannot be read.
Rows = Iterator[tuple[int, "dict[str, Any] | BadRow"]]
# Rows one by one, or many at once with the number of the first.
Parts = Iterator[tuple[int, "dict[str, Any] | BadRow | Table | Batch"]]


class Batch(NamedTuple):
    """Rows that follow each other at the same distance, in lines."""

    rows: list[dict[str, Any]]
    distance: int

    def numbered(self, first: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows one by one, with their lines."""
        return ((first + index * self.distance, row) for index, row in enumerate(self.rows))

    def has_any(self, columns: Sequence[str]) -> bool:
        """Whether a row has one of these columns."""
        return any(column in row for column in columns for row in self.rows)

    def texts(self, columns: list[str]) -> list[tuple[str, ...]] | None:
        """The values of these columns row by row; None if some are no text."""
        try:
            found = [tuple([row[column] for column in columns]) for row in self.rows]
        except KeyError:
            return None
        return found if all(type(value) is str for values in found for value in values) else None


def read_rows(source: Source, scratch: Path, columns: list[str] | None = None) -> Rows:
    """The rows of a source one by one; otherwise as `read_parts`."""
    for number, part in read_parts(source, scratch, columns):
        if isinstance(part, Table | Batch):
            yield from part.numbered(number)
        else:
            yield number, part


def read_parts(source: Source, scratch: Path, columns: list[str] | None = None) -> Parts:
    """The rows of a source.

    @param scratch where a compressed Parquet or Arrow file is unpacked.
    @param columns the only ones that are needed, if all of them become text; the others may be left out.
    @raises Fault for what cannot be read at all.
    """
    if source.container in ("parquet", "arrow"):
        yield from read_tables(source, scratch, columns)
        return
    try:
        if source.container == "json":
            yield from with_questions(_json_array(source))
        elif source.container == "jsonl":
            yield from with_questions(_jsonl(source))
        else:
            yield from _delimited(source, fast=columns is not None and source.size > CSV_BLOCK_BYTES)
    except UnicodeError:
        raise source.bad_byte() from None


def with_questions(parts: Parts) -> Parts:
    """Articles of SQuAD's own JSON as rows of their questions; others as they are."""
    for number, part in parts:
        if isinstance(part, Batch) and part.has_any(("paragraphs",)):
            yield from with_questions(part.numbered(number))
        elif isinstance(part, dict) and _is_article(part):
            yield from ((number, row) for row in _questions(part))
        else:
            yield number, part


def _is_article(row: dict[str, Any]) -> bool:
    paragraphs = row.get("paragraphs")
    return isinstance(paragraphs, list) and all(
        isinstance(one, dict) and isinstance(one.get("qas"), list) for one in paragraphs
    )


def _questions(article: dict[str, Any]) -> Iterator[dict[str, Any] | BadRow]:
    """Rows as Hugging Face's SQuAD has them: with the texts of all answers in one list."""
    for paragraph in article["paragraphs"]:
        around = {
            **{name: value for name, value in article.items() if name != "paragraphs"},
            **{name: value for name, value in paragraph.items() if name != "qas"},
        }
        for question in paragraph["qas"]:
            if not isinstance(question, dict):
                yield _no_object(question)
                continue
            answers = question.get("answers")
            if isinstance(answers, list) and all(isinstance(answer, dict) for answer in answers):
                answers = {
                    name: [answer.get(name) for answer in answers] for name in ("text", "answer_start")
                }
            yield {**around, **question, "answers": answers}


def _jsonl(source: Source) -> Rows:
    decode = msgspec.json.Decoder().decode
    with source.text() as file:
        for number, line in enumerate(iter(partial(file.readline, MAXIMUM_ROW_BYTES), ""), 1):
            if len(line) == MAXIMUM_ROW_BYTES:
                raise _too_long(number)
            if line.isspace():
                continue
            try:
                row = decode(line)
            except msgspec.DecodeError as error:
                yield number, BadRow(f"invalid JSON ({error}); write one JSON object per line")
            except RecursionError:
                yield number, BadRow("nested too deeply; remove the nested fields")
            else:
                yield number, row if isinstance(row, dict) else _no_object(row)


def _json_array(source: Source) -> Parts:
    decode = json.JSONDecoder().raw_decode
    cut_short = "the JSON array is cut short: its closing bracket is missing. Copy or download it again."
    with source.text() as file:
        window = JsonWindow(file)
        seek(window, source.rows_at)
        window.step()
        if window.next() == "]":
            return
        while True:
            follows = window.next()
            if follows == "" or follows == "]":
                why = cut_short if follows == "" else "a comma stands before the closing bracket. Remove it."
                raise Fault(f"Line {window.line}: {why}", window.line)
            while True:
                text, at, line = window.text, window.at, window.line
                try:
                    row, end = decode(text, at)
                    # A number may go on behind what was read.
                    if end < len(text) or window.ended:
                        break
                except RecursionError:
                    raise Fault(f"Line {line}: nested too deeply; remove the nested fields.", line) from None
                except ValueError as error:
                    position = getattr(error, "pos", at)
                    said = getattr(error, "msg", "a number is too long")
                    # An element cut by the window's end fails there, or at the start of its last string.
                    is_open = position > len(text) - 16 or said.startswith("Unterminated string")
                    if window.ended or not is_open:
                        line += text.count("\n", at, position)
                        why = cut_short if is_open else f"invalid JSON ({said}). Correct it."
                        raise Fault(f"Line {line}: {why}", line) from None
                if len(text) - at > MAXIMUM_ROW_BYTES:
                    raise _too_long(line)
                window.more()
            yield line, row if isinstance(row, dict) else _no_object(row)
            window.move(end)
            yield from _alike(window)
            follows = window.next()
            window.move(window.at + len(follows))
            if follows == "]":
                break
            if follows != ",":
                why = cut_short if follows == "" else f"{follows!r} stands where a comma belongs. Correct it."
                raise Fault(f"Line {window.line}: {why}", window.line)
        if not source.rows_at and window.next() != "":
            raise Fault(
                f"Line {window.line}: more follows the end of the JSON array. Put all rows into one array.",
                window.line,
            )


def _alike(window: JsonWindow) -> Parts:
    """The objects behind the one that ends at the window's position, as long as they begin as the next one
    does and take as many lines. They are decoded many at a time, which is three times as fast; the position
    is then behind the last of them."""
    decode = msgspec.json.Decoder(list[dict[str, Any]]).decode
    following = NEXT_OBJECT.match(window.text, window.at)
    while following is not None and not window.is_uneven:
        text, at, opening = window.text, window.at, following.group()
        end = text.rfind("}" + opening, at, at + BATCH_CHARACTERS) + 1
        count = text.count("}" + opening, at, end) + 1
        lines = opening[: opening.index("{")].count("\n")
        if end == 0 or text.count("\n", at, end) != lines * count:
            return
        try:
            rows = decode("[" + text[text.index(",", at) + 1 : end] + "]")
        except (msgspec.DecodeError, RecursionError):
            rows = []
        if len(rows) != count:
            window.is_uneven = True
            return
        yield window.line + lines, Batch(rows, lines)
        window.line += lines * count
        window.at = end
        following = NEXT_OBJECT.match(text, end)


def _delimited(source: Source, fast: bool) -> Parts:
    """CSV and TSV. pyarrow is three times as fast as csv, which tells the line of whatever is wrong.

    @param fast whether pyarrow may begin: importing it costs more than csv takes for a small file.
    """
    done = 0
    if fast and source.encoding != "utf-16":
        from pyarrow import ArrowInvalid

        try:
            for table in _fast_csv(source):
                yield done + 2 + source.skipped_lines, table
                done += len(table.columns[0])
            return
        except ArrowInvalid:
            pass
    yield from islice(_exact_csv(source), done, None)


def _fast_csv(source: Source) -> Iterator[Table]:
    from pyarrow import csv as arrow_csv
    from pyarrow import string

    names = csv_header(source)
    reader = arrow_csv.open_csv(
        source.open(),
        read_options=arrow_csv.ReadOptions(
            use_threads=False,
            block_size=CSV_BLOCK_BYTES,
            autogenerate_column_names=True,
            skip_rows=source.skipped_lines,
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types={f"f{index}": string() for index in range(len(names))}
        ),
    )
    skip = 1
    for batch in reader:
        columns = [column.to_numpy(zero_copy_only=False).tolist()[skip:] for column in batch.columns]
        yield Table(names, columns, is_text=True)
        skip = 0


def _exact_csv(source: Source) -> Rows:
    names = csv_header(source)
    with source.text() as file:
        reader = _csv_reader(source, file)
        next(reader)
        while True:
            line = reader.line_num + 1 + source.skipped_lines
            try:
                values = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise _bad_csv(line, error) from None
            if len(values) == len(names):
                yield line, dict(zip(names, values, strict=True))
            elif values:
                yield (
                    line,
                    BadRow(
                        f"has {len(values)} value{'' if len(values) == 1 else 's'}, but the header has"
                        f" {len(names)} column{'' if len(names) == 1 else 's'};"
                        " put values with a separator or a line break in double quotes"
                    ),
                )


def csv_header(source: Source) -> list[str]:
    """The names of the columns. @raises Fault where two are the same."""
    with source.text() as file:
        try:
            values: list[str] = next((values for values in _csv_reader(source, file) if values), [])
        except csv.Error as error:
            raise _bad_csv(1, error) from None
    # The first column of a table that pandas saved has no name.
    names = [value.strip() or f"column {index}" for index, value in enumerate(values, 1)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Fault(f'Line 1: two columns are named "{twice[:100]}". Rename one.', 1, twice[:100])
    return names


def _csv_reader(source: Source, file: TextIO) -> _csv.Reader:
    csv.field_size_limit(MAXIMUM_ROW_BYTES)
    lines = islice(iter(partial(file.readline, MAXIMUM_ROW_BYTES), ""), source.skipped_lines, None)
    return csv.reader(lines, delimiter=source.delimiter, strict=True)


def _bad_csv(line: int, error: csv.Error) -> Fault:
    if "unexpected end of data" in str(error):
        return Fault(f"Line {line}: a double quote that opens here is never closed. Close it.", line)
    if "field limit" in str(error):
        return Fault(
            f"Line {line}: a value is longer than {MAXIMUM_ROW_BYTES} bytes."
            " Close the double quote that opens in this row, or split the row.",
            line,
        )
    return Fault(f"Line {line}: {str(error)[:100]}. Write double quotes within a quoted value twice.", line)


def _too_long(line: int) -> Fault:
    return Fault(f"Line {line}: the row is longer than {MAXIMUM_ROW_BYTES} bytes. Split it.", line)


def _no_object(value: object) -> BadRow:
    kind = "an array" if isinstance(value, list) else "null" if value is None else f"a {type(value).__name__}"
    return BadRow(f"expected a JSON object, found {kind}")
