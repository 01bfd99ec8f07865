"""What is in a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_kept: dict[Path, dict[str, Any]] | None = None


def read(tokenizer_json: Path) -> dict[str, Any]:
    """The content of a tokenizer.json, which must not be changed."""
    if _kept is None:
        return json.loads(tokenizer_json.read_text("utf-8"))
    # The folders that the converter and the loaders read have links to the model's file.
    real = tokenizer_json.resolve()
    if real not in _kept:
        _kept[real] = json.loads(real.read_text("utf-8"))
    return _kept[real]


@contextmanager
def kept() -> Iterator[None]:
    """Reads each file only once meanwhile. A large vocabulary then takes 100 MB, which an export has no room
    for beside its tensors."""
    global _kept
    before, _kept = _kept, {} if _kept is None else _kept
    try:
        yield
    finally:
        _kept = before
