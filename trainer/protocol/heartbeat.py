"""The heartbeat: a file whose modification time shows that the trainer makes progress."""

from __future__ import annotations

import os
import time
from pathlib import Path

# Beats closer than this are skipped: the service expects one every 5 s.
INTERVAL_SECONDS = 0.5


class Heartbeat:
    """Touches `<job_dir>/heartbeat`. Call `beat` from loops that do work, never from a timer."""

    def __init__(self, job_dir: str | os.PathLike[str]) -> None:
        self._path = Path(job_dir) / "heartbeat"
        self._last = 0.0
        self._path.touch()

    def beat(self) -> None:
        """Touches the file, at most every INTERVAL_SECONDS."""
        now = time.monotonic()
        if now - self._last >= INTERVAL_SECONDS:
            self._last = now
            self._path.touch()
