"""Stopping: the file `stop` in the job folder, or SIGTERM, asks; the loops look and answer."""

from __future__ import annotations

import os
import signal
from pathlib import Path


class Stopped(Exception):
    """Raised where a long phase is left because a stop was asked for."""


class Stop:
    """Whether a stop has been asked for, and how."""

    def __init__(self, job_dir: str | os.PathLike[str]) -> None:
        self._path = Path(job_dir) / "stop"
        self._signalled = False

    def listen(self) -> None:
        """Takes SIGTERM as a request to stop and ignores what a terminal sends to the service beside us."""
        signal.signal(signal.SIGTERM, self._on_signal)
        for name in ("SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)

    def reason(self) -> str | None:
        """`stop` (the file), `signal` (SIGTERM) or None; costs one stat."""
        if self._path.exists():
            return "stop"
        return "signal" if self._signalled else None

    def check(self) -> None:
        """Raises Stopped when a stop has been asked for."""
        if self.reason():
            raise Stopped

    def _on_signal(self, number: int, frame: object) -> None:
        self._signalled = True
