"""Rows that a program has, as a file of JSONL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any


def as_file(rows: Any) -> tuple[str, bytes]:
    """The name and content of the file of some rows.

    Args:
        rows: a path, an iterable of dictionaries (such as a dataset of `datasets`), or a DataFrame.
    Raises:
        TypeError: for rows of another kind.
    """
    if isinstance(rows, str | PathLike):
        path = Path(rows)
        return path.name, path.read_bytes()
    if hasattr(rows, "columns") and hasattr(rows, "to_dict"):
        rows = rows.to_dict("records")
    if not isinstance(rows, Iterable) or isinstance(rows, bytes | dict):
        raise TypeError(
            f"Rows are a path, a list of dictionaries or a DataFrame, not a {type(rows).__name__}."
        )
    lines = [json.dumps(_row(row), ensure_ascii=False) for row in rows]
    content = "".join(f"{line}\n" for line in lines).encode()
    return f"rows-{hashlib.sha256(content).hexdigest()[:8]}.jsonl", content


def _row(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TypeError(
            f'A row is a dictionary such as {{"input": …, "output": …}}, not a {type(row).__name__}.'
        )
    return row
