"""A source's bytes: plain or gzip, counted, with its container and encoding found in the first of them."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.importing.faults import Fault
from trainer.importing.json_window import JsonWindow, lists_of
from trainer.importing.limits import MAXIMUM_ROW_BYTES

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# What is looked at to tell containers apart.
HEAD_BYTES = 2**16
# Unicode byte order marks. UTF-32 is not among them: its mark begins as that of UTF-16.
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Separators of values, the likelier first.
DELIMITERS = ",\t;|"
# What Excel writes, and hides, before the header.
SEPARATOR_LINE = re.compile(r"sep=(\\t|.)", re.IGNORECASE)
# Rows that are looked at to find the separator.
LOOKED_ROWS = 20
# Arrow's file format, and its stream format, as Hugging Face's datasets write it.
ARROW = (b"ARROW1", b"\xff\xff\xff\xff")
# Other formats, by their first bytes: what they are, and what to do.
OTHERS = (
    (b"PK\x03\x04", "a ZIP archive (as .xlsx files are)", "Unpack it, or export the sheet as CSV."),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard", "Unpack it, or compress it with gzip."),
    (b"BZh", "compressed with bzip2", "Unpack it, or compress it with gzip."),
    (b"\xfd7zXZ", "compressed with xz", "Unpack it, or compress it with gzip."),
    (b"FEA1", "a Feather file of version 1", "Save it as Feather of version 2, or as Parquet."),
    (b"SQLite format 3", "a SQLite database", "Export the table as CSV."),
    (b"%PDF", "a PDF document", "Export its text as CSV or JSONL."),
)


class Expanded(io.RawIOBase):
    """A file, decompressed if it is gzip.

    Its reads raise Fault for gzip that is cut short or damaged, and for more than `limit` bytes.
    """

    def __init__(self, path: Path, limit: int):
        super().__init__()
        self.file = open(path, "rb")  # noqa: SIM115
        self.is_gzip = self.file.read(2) == b"\x1f\x8b"
        self.file.seek(0)
        self.inner: io.BufferedIOBase = gzip.GzipFile(fileobj=self.file) if self.is_gzip else self.file
        self.limit = limit
        self.total = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        into = memoryview(buffer).cast("B")
        try:
            data = self.inner.read(len(into))
        except EOFError:
            raise Fault("The gzip file is cut short. Copy or download it again.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise Fault(
                f"The gzip file is damaged ({str(error)[:100]}). Copy or download it again."
            ) from None
        self.total += len(data)
        if self.is_gzip and self.total > self.limit:
            raise Fault(
                f"The gzip file expands to more than the limit of {self.limit:,} bytes. Split the dataset."
            )
        into[: len(data)] = data
        return len(data)

    def read_head(self) -> bytes:
        """The first bytes."""
        head = b""
        while len(head) < HEAD_BYTES and (piece := self.read(HEAD_BYTES - len(head))):
            head += piece
        return head

    def close(self) -> None:
        self.inner.close()
        self.file.close()
        super().close()


class Source:
    """One file to import. `container` is jsonl, json, csv, tsv, parquet or arrow.

    @param wanted which list of one JSON object has the rows, by its keys with dots; the longest by default.
    @raises Fault for an empty file, and for what is none of these.
    """

    def __init__(self, path: Path, limit: int, wanted: str | None = None):
        self.path, self.limit, self.wanted = path, limit, wanted
        self.size = path.stat().st_size
        # How much of the rows was read, where the position in the file does not tell.
        self.fraction: float | None = None
        raw = self.open()
        self.compression = "gzip" if raw.is_gzip else None
        head = raw.read_head()
        raw.close()
        if not head:
            raise Fault("The file is empty. Choose a file with rows.")
        self.encoding = next((name for mark, name in MARKS if head.startswith(mark)), "utf-8")
        self.delimiter = ","
        # The keys of a JSON object under which the rows are.
        self.rows_at: tuple[str, ...] = ()
        # The lists of objects in it, by their keys with dots, each with its length.
        self.lists: dict[str, int] = {}
        # Of a table: its rows, if it tells; the names of labels, and whether they are taken for the numbers.
        self.total_rows: int | None = None
        self.labels: dict[str, list[str]] = {}
        self.label_names = True
        # Lines before the header: Excel's first one can name the separator.
        self.skipped_lines = 0
        self.container = self._container(head)

    def open(self) -> Expanded:
        """The bytes from the start."""
        self.opened = Expanded(self.path, self.limit)
        return self.opened

    def done_bytes(self) -> int:
        """How much of the file on disk was read."""
        if self.fraction is not None:
            return round(self.fraction * self.size)
        return 0 if self.opened.closed else min(self.opened.file.tell(), self.size)

    def text(self) -> io.TextIOWrapper:
        """The characters from the start; lines end with a line feed alone."""
        return io.TextIOWrapper(io.BufferedReader(self.open(), 2**18), encoding=self.encoding, newline="\n")

    def _container(self, head: bytes) -> str:
        if head.startswith(b"PAR1"):
            return "parquet"
        if head.startswith(ARROW):
            return "arrow"
        for magic, what, advice in OTHERS:
            if head.startswith(magic):
                raise Fault(f"The file is {what}. {advice}")
        # The last character may be cut.
        text = codecs.getincrementaldecoder(self.encoding)("replace").decode(head).lstrip()
        if "\0" in text:
            raise Fault(
                "The file is binary, or in an encoding such as UTF-16 without a byte order mark."
                " Use JSONL, JSON, CSV, TSV, Parquet or Arrow; save text as UTF-8."
            )
        if text == "":
            raise Fault("The file has nothing but white space. Choose a file with rows.")
        if text.startswith("["):
            return "json"
        if text.startswith("{"):
            return "json" if self._is_one_object() else "jsonl"
        first = text.split("\n", 1)[0]
        if named := SEPARATOR_LINE.fullmatch(first.strip(" \r")):
            self.delimiter, self.skipped_lines = named.group(1).replace("\\t", "\t"), 1
        else:
            self.delimiter = _delimiter_of(text, first)
        return "tsv" if self.delimiter == "\t" else "csv"

    def _is_one_object(self) -> bool:
        """Whether the file is one object, and not one a line; then finds the rows in it."""
        with self.text() as file:
            try:
                line = next(
                    line for line in iter(lambda: file.readline(MAXIMUM_ROW_BYTES), "") if line.strip()
                )
                row = json.loads(line)
            except ValueError as error:
                position = getattr(error, "pos", 0)
                # An object that goes on in the next line fails at the end of the first.
                if position < len(line.rstrip()) or len(line) == MAXIMUM_ROW_BYTES:
                    return False
                if _is_row(
                    next((line for line in iter(lambda: file.readline(2**20), "") if line.strip()), "")
                ):
                    return False
            except RecursionError:
                return False
            else:
                if any(_is_conversation(value) for value in row.values()):
                    return False
                if not any(_is_rows(value) for value in row.values()) or file.read(2**10).strip():
                    return False
        with self.text() as file:
            window = JsonWindow(file)
            try:
                found = dict(lists_of(window))
                has_more = window.next() != ""
            except UnicodeError:
                raise self.bad_byte() from None
        if has_more:
            raise Fault(
                f"Line {window.line}: a JSON object ends here, and more follows. Write one object per line.",
                window.line,
            )
        if not found:
            raise Fault(
                "The file is one JSON object without a list of rows."
                " Write the rows as a JSON array, or one object per line."
            )
        self.lists = {".".join(path): count for path, count in found.items()}
        wanted = next((path for path in found if ".".join(path) == self.wanted), None)
        if self.wanted is not None and wanted is None:
            raise Fault(f'There is no list of rows under the key "{self.wanted[:100]}".')
        self.rows_at = wanted or max(found, key=lambda path: found[path])
        return True

    def bad_byte(self) -> Fault:
        """Where the text is not in its encoding, found by reading it once more."""
        name = "UTF-16" if self.encoding == "utf-16" else "UTF-8"
        decoder = codecs.getincrementaldecoder(self.encoding)()
        line, kept = 1, b""
        raw = self.open()
        while chunk := raw.read(2**18):
            pending = decoder.getstate()[0]
            try:
                line += decoder.decode(chunk).count("\n")
            except UnicodeDecodeError as error:
                kept = pending + chunk
                before = kept[: error.start]
                line += before.decode(self.encoding, "replace").count("\n") if name == "UTF-8" else 0
                column = error.start - before.rfind(b"\n")
                return Fault(
                    f"Line {line} is not {name}: its byte {column} is 0x{kept[error.start]:02x}."
                    " The file may be in Latin-1 or Windows-1252. Save it as UTF-8"
                    " (iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW).",
                    line,
                )
        return Fault(f"The file ends within a character of {name}. Copy or download it again.", line)


def _is_row(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_rows(value: object) -> bool:
    if isinstance(value, dict):
        return any(_is_rows(one) for one in value.values())
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _is_conversation(value: object) -> bool:
    return _is_rows(value) and isinstance(value, list) and ("role" in value[0] or "from" in value[0])


def _delimiter_of(text: str, header: str) -> str:
    """The separator with which most of the first rows have as many values as the header."""
    lines = text.splitlines(keepends=True)
    # The last line may be cut.
    lines = lines[: max(1, len(lines) - 1)] if len(text) >= HEAD_BYTES // 4 else lines

    def fit(delimiter: str) -> tuple[bool, float, int]:
        widths: list[int] = []
        try:
            for values in csv.reader(lines, delimiter=delimiter, strict=True):
                if values and len(widths) < LOOKED_ROWS:
                    widths.append(len(values))
        except csv.Error:
            pass
        width = widths[0] if widths else 1
        return width > 1, sum(one == width for one in widths) / max(1, len(widths)), header.count(delimiter)

    return max(DELIMITERS, key=fit)
