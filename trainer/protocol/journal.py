"""The journal: what the trainer tells the service, one JSON object a line, never lost and never torn."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from trainer.protocol.contracts import check_line

# Lines that the service acts upon for good; they reach the disk before anything else happens.
DURABLE = frozenset({"hello", "checkpoint", "artifact", "done", "failed"})

# How much of the file's end is read to find the last line; the longest lines are samples of a few KiB.
TAIL_BYTES = 1 << 20


class Journal:
    """Appends to `<job_dir>/journal.jsonl`, going on where an earlier process of the job ended."""

    def __init__(self, job_dir: str | os.PathLike[str]) -> None:
        """Opens or creates the journal; a torn last line, as a power loss leaves it, is cut off."""
        self.path = Path(job_dir) / "journal.jsonl"
        self._file = os.open(
            self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644
        )
        self._lock = threading.Lock()
        self._seq = self._repair()

    def write(self, type: str, **fields: object) -> None:
        """Appends one line of `type`, whole or not at all; ContractError when its fields are wrong.

        NaN and infinities become null. OSError when the disk is full.
        """
        fields = {name: _finite(value) for name, value in fields.items()}
        check_line(type, fields)
        with self._lock:
            self._append(type, fields)

    def _append(self, type: str, fields: Mapping[str, object]) -> None:
        """Appends a checked line; a partial write is taken back."""
        time = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"seq": self._seq, "time": time, "type": type, **fields}
        data = (json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n").encode()
        start = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, data)
            if written != len(data):
                raise OSError(28, "No space left on device", str(self.path))
        except OSError:
            os.ftruncate(self._file, start)
            raise
        self._seq += 1
        if type in DURABLE:
            os.fsync(self._file)

    def lines(self) -> list[dict[str, Any]]:
        """Every line so far."""
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines() if line]

    def close(self) -> None:
        """Closes the file; the journal is then done with."""
        os.close(self._file)

    def _repair(self) -> int:
        """Cuts off a line without its newline and returns the next `seq`."""
        size = os.fstat(self._file).st_size
        start = max(0, size - TAIL_BYTES)
        os.lseek(self._file, start, os.SEEK_SET)
        tail = b""
        while len(tail) < size - start:
            tail += os.read(self._file, size - start - len(tail))
        end = tail.rfind(b"\n") + 1
        if end != len(tail):
            os.ftruncate(self._file, start + end)
            os.fsync(self._file)
        last = tail[:end].rstrip(b"\n").rpartition(b"\n")[2]
        return json.loads(last)["seq"] + 1 if last else 0


def _finite(value: object) -> object:
    """`value` with every NaN and infinity in it replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return value
