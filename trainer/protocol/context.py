"""What training and export of a job share: its specification, and how it reports and stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trainer.protocol.contracts import Spec
from trainer.protocol.heartbeat import Heartbeat
from trainer.protocol.journal import Journal
from trainer.protocol.stop import Stop

# Lines about the progress of one phase are at least this far apart.
REPORT_SECONDS = 0.25


class WritesLines(Protocol):
    """A journal, or what takes its lines."""

    def write(self, type: str, **fields: object) -> None:
        """Takes a line."""


class Beats(Protocol):
    """A heartbeat, or what counts the beats."""

    def beat(self) -> None:
        """A sign of life."""


class Stops(Protocol):
    """What knows of stop requests."""

    def reason(self) -> str | None:
        """`stop`, `signal` or None."""

    def raise_if_requested(self) -> None:
        """Raises Stopped when a stop was requested."""


@dataclass
class JobContext:
    """One job as every part of the trainer sees it."""

    spec: Spec
    journal: WritesLines
    heartbeat: Beats
    stop: Stops

    @classmethod
    def open(cls, spec: Spec) -> JobContext:
        """The context of the job in `spec`; opens or creates its journal and its heartbeat."""
        return JobContext(spec, Journal(spec.folder), Heartbeat(spec.folder), Stop(spec.folder))

    @property
    def folder(self) -> Path:
        """The job folder."""
        return self.spec.folder

    @property
    def artifacts(self) -> Path:
        """The folder of the files that the job produces."""
        return self.folder / "artifacts"

    @property
    def root(self) -> Path:
        """The folder that the paths of artifacts are relative to."""
        return self.folder

    def beat_or_stop(self) -> None:
        """Beats; raises Stopped when a stop was requested. Call it from the loop of every long phase."""
        self.heartbeat.beat()
        self.stop.raise_if_requested()

    def phase(self, name: str, progress: float | None = None, detail: str | None = None) -> None:
        """Reports the current phase and its progress (0…1)."""
        self.journal.write("phase", phase=name, progress=progress, detail=detail)

    def track(self, name: str, detail: str) -> Callable[[float], None]:
        """Starts a phase and returns the function to call with its progress (0…1).

        That function beats, raises Stopped when a stop was requested, and reports every REPORT_SECONDS.
        """
        self.phase(name, 0.0, detail)
        report = self.reports(name)

        def progress(share: float) -> None:
            self.beat_or_stop()
            report(share, detail)

        return progress

    def count(self, name: str, what: str, total: int) -> Callable[[float], None]:
        """Starts a phase of `total` things, such as rows, and returns the function to call with how many are
        done, which reports every REPORT_SECONDS. It neither beats nor stops."""
        self.phase(name, 0.0, f"{what} 0 of {total:,}")
        report = self.reports(name)
        return lambda done: report(done / max(1, total), f"{what} {int(done):,} of {total:,}")

    def reports(self, name: str) -> Callable[[float, str], None]:
        """A function that reports a phase's progress (0…1) and what it is at, every REPORT_SECONDS and at its
        end."""
        reported = time.monotonic()

        def report(share: float, detail: str) -> None:
            nonlocal reported
            if share >= 1.0 or time.monotonic() - reported >= REPORT_SECONDS:
                self.phase(name, round(min(1.0, share), 4), detail)
                reported = time.monotonic()

        return report

    def warn(self, code: str, message: str) -> None:
        """Reports something that the user should know and that does not end the run."""
        self.journal.write("warning", code=code, message=message)

    def artifact(self, kind: str, path: Path, size: int, quantization: str | None = None) -> None:
        """Reports a finished file or folder."""
        where = path.relative_to(self.root).as_posix()
        self.journal.write("artifact", kind=kind, path=where, bytes=size, quantization=quantization)

    def done(
        self,
        outcome: str,
        step: int,
        metrics: Mapping[str, object],
        verification: Mapping[str, object] | None = None,
        export: Mapping[str, object] | None = None,
    ) -> None:
        """Ends the journal: `completed` or `stopped`, with the latest metrics. `export` is what became of the
        GGUF files (`trainer.export.outcome`)."""
        self.journal.write(
            "done",
            outcome=outcome,
            step=step,
            metrics=metrics,
            verification=verification,
            export=export,
        )
