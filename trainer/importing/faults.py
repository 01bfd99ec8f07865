"""Why a source or one of its rows cannot be imported."""

from __future__ import annotations


class Fault(Exception):
    """Ends the import: nothing behind it can be read. `line` counts from 1; rows, in Parquet."""

    def __init__(self, message: str, line: int | None = None, column: str | None = None):
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class BadRow(Exception):
    """A row that does not fit; the next one can be read."""

    def __init__(self, message: str, column: str | None = None):
        super().__init__(message)
        self.message, self.column = message, column
