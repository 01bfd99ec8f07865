"""What every part of one run shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer.checkpoints import Checkpoint
from trainer.contracts import Settings, Spec
from trainer.heartbeat import Heartbeat
from trainer.journal import Journal
from trainer.stop import Stop
from trainer.template import Template


@dataclass
class Job:
    """One run: what it was told, how it reports, and what it has found out so far."""

    spec: Spec
    journal: Journal
    heartbeat: Heartbeat
    stop: Stop
    task: Any
    strategy: Any
    provider: Any
    resume: Checkpoint | None
    model_dir: Path | None = None
    reward_dir: Path | None = None
    config: dict[str, Any] = field(default_factory=dict)
    family: str = "causal"
    tokenizer: Any = None
    template: Template | None = None

    @property
    def settings(self) -> Settings:
        """The training request's fields."""
        return self.spec.settings

    @property
    def folder(self) -> Path:
        """The job folder."""
        return self.spec.folder

    @property
    def artifacts(self) -> Path:
        """The folder of what the job makes."""
        return self.folder / "artifacts"

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that every row has: the strategy's own, or the task's."""
        return self.strategy.fields or self.task.fields

    def messages(self, row: dict[str, Any]) -> list[dict[str, str]]:
        """The conversation of a row, the answer last."""
        return (self.strategy if self.strategy.fields else self.task).messages(row)

    def strategy_best(self) -> tuple[str, bool]:
        """The evaluation figure that says which checkpoint is best, and whether more of it is better."""
        return getattr(self.strategy, "best", None) or self.task.best

    def alive(self) -> None:
        """Called from the loop of every long phase: beats, and raises Stopped when a stop was asked for."""
        self.heartbeat.beat()
        self.stop.check()

    def phase(self, name: str, progress: float | None = None, detail: str | None = None) -> None:
        """Says which phase this is and how far."""
        self.journal.write("phase", phase=name, progress=progress, detail=detail)

    def warn(self, code: str, message: str) -> None:
        """Says something that the user should know and that does not end the run."""
        self.journal.write("warning", code=code, message=message)
