"""Values of a row's columns, also of those within objects and lists, such as `answers.text.0`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainer.importing.faults import BadRow

# Columns of objects are found within objects down to this level, and so many of one source.
MAXIMUM_LEVELS = 3
MAXIMUM_COLUMNS = 256


def value_at(row: Mapping[str, Any], column: str) -> Any:
    """The value of a column; None where a row has none."""
    if column in row:
        return row[column]
    value: Any = row
    for step in column.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def text_of(row: Mapping[str, Any], column: str) -> str:
    """A value as text: numbers and truth values as JSON writes them. @raises BadRow for anything else."""
    value = value_at(row, column)
    if type(value) is str:
        return value
    if value is None:
        raise BadRow(f'column "{column}" has no value', column)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    kinds = ((list, "a list"), (dict, "an object"), (bytes, "binary data"))
    kind = next((words for kind, words in kinds if isinstance(value, kind)), "no text")
    raise BadRow(f'column "{column}" holds {kind}, which does not fit; map a column of text', column)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of rows, each followed by those within its objects and its lists of plain values."""
    names = dict.fromkeys(name for row in rows for name in row)
    found: dict[str, None] = {}
    for name in names:
        found[name] = None
        for row in rows:
            for inner in _within(row.get(name), name, 1):
                if len(found) < MAXIMUM_COLUMNS and inner not in names:
                    found.setdefault(inner)
    return list(found)


def _within(value: object, name: str, level: int) -> Iterator[str]:
    if isinstance(value, dict) and level < MAXIMUM_LEVELS:
        for key, inner in value.items():
            yield f"{name}.{key}"
            yield from _within(inner, f"{name}.{key}", level + 1)
    elif isinstance(value, list) and value and not isinstance(value[0], dict | list):
        yield f"{name}.0"


def root_of(column: str, names: Sequence[str]) -> str | None:
    """The column of a table that a column is, or lies within."""
    if column in names:
        return column
    return next((name for name in names if column.startswith(f"{name}.")), None)
