"""Writes what rank 0 reports into the job folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.protocol import checkpoints
from trainer.training.tensorboard import TensorBoardLog

if TYPE_CHECKING:
    from trainer.data.job import Job
    from trainer.engines.cluster.outbox import Message

ASIDE = ".aside"


class Report:
    """Takes the messages of rank 0 (see Outbox) in their order."""

    def __init__(self, job: Job) -> None:
        self.job = job
        shutil.rmtree(job.folder / "checkpoints" / ASIDE, ignore_errors=True)
        self.board = TensorBoardLog()
        self.board.open(job.spec, job.resume.step if job.resume else 0)

    def take(self, message: Message) -> None:
        """Writes a piece of a file, or a journal line after what it tells of is in its place."""
        if message[0] == "file":
            _, relative, piece, first = message
            path = self._place(relative)
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb" if first else "ab") as file:
                file.write(piece)
            return
        _, type, fields = message
        if type == "checkpoint":
            self._seal(fields["step"])
        self.job.journal.write(type, **fields)
        if type == "metric":
            self.board.add("train", {**fields, **fields["extra"]}, fields["step"])
        if type == "eval":
            self.board.add("eval", fields["metrics"], fields["step"])

    def _place(self, relative: str) -> Path:
        """Where a file of rank 0 belongs; those of a checkpoint are put aside until it is complete."""
        parts = Path(relative).parts
        if ".." in parts or Path(relative).is_absolute():
            raise ValueError(f"A rank sent a file for {relative}")
        if parts[0] == "checkpoints":
            parts = (parts[0], ASIDE, *parts[2:])
        return self.job.folder.joinpath(*parts)

    def _seal(self, step: int) -> None:
        """Makes the files put aside the checkpoint of `step`, and deletes old ones."""
        folder = self.job.folder / "checkpoints"
        written = folder / ASIDE
        facts = json.loads((written / checkpoints.MARKER).read_text(encoding="utf-8"))
        (written / checkpoints.MARKER).unlink()
        del facts["files"], facts["step"]
        sealed = checkpoints.seal(written, folder, step, facts)
        checkpoints.prune(folder, self.job.settings.save_total_limit, self.best_step(sealed.path))

    def best_step(self, checkpoint: Path) -> int | None:
        """The step of the best checkpoint, as a later one knows it."""
        state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
        return state["best_global_step"]

    def close(self) -> None:
        """Closes the TensorBoard log."""
        self.board.close()
