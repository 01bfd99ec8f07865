"""Stop requests: the file `stop` in the job folder, or SIGTERM. The loops poll for them."""

from __future__ import annotations

import os
import signal
from pathlib import Path


class Stopped(Exception):
    """Raised to leave a long phase when a stop was requested."""


class Stop:
    """Whether a stop was requested, and how."""

    def __init__(self, job_dir: str | os.PathLike[str]) -> None:
        self._path = Path(job_dir) / "stop"
        self._signalled = False

    def listen(self) -> None:
        """Takes SIGTERM as a stop request and ignores the signals that a terminal sends to the service."""
        signal.signal(signal.SIGTERM, self._on_signal)
        for name in ("SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)

    def reason(self) -> str | None:
        """`stop` (the file), `signal` (SIGTERM) or None; costs one stat."""
        if self._path.exists():
            return "stop"
        return "signal" if self._signalled else None

    def raise_if_requested(self) -> None:
        """Raises Stopped when a stop was requested."""
        if self.reason():
            raise Stopped

    def _on_signal(self, number: int, frame: object) -> None:
        self._signalled = True
