"""The importance matrix of a model that is exported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export import outcome
from trainer.export.exported_model import Model
from trainer.export.importance import record
from trainer.export.importance.matrix import NAME, write_matrix
from trainer.export.kept import IMPORTANCE
from trainer.export.publish import move
from trainer.protocol.context import JobContext
from trainer.protocol.stop import Stopped

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Importance:
    """The matrix in the file `path`, of so many `tokens`; `columns` is what it has of each matrix, (experts,
    columns)."""

    path: Path
    tokens: int
    columns: dict[str, np.ndarray]


def importance_of(model: Model) -> Importance | None:
    """The matrix made of what training recorded; None where it recorded nothing, or, with a warning, where
    there can be none."""
    job, path = model.job, model.scratch / NAME
    kept = job.artifacts / IMPORTANCE
    if not kept.is_file():
        return None
    try:
        recorded = record.read(kept)
        progress = job.track("convert", "which weights matter")
        columns = write_matrix(recorded, model.tensors, model.convert, path, progress)
        if columns:
            return Importance(path, recorded.tokens, columns)
        why = "llama.cpp has its matrices in another form"
    except Stopped:
        raise
    except Exception as error:
        why = outcome.logged(error).message
    path.unlink(missing_ok=True)
    job.warn("no_importance", f"Small files are quantized without an importance matrix: {why}.")
    return None


def publish_importance(job: JobContext, importance: Importance) -> None:
    """Moves it into the model's folder, where later quantizations find it."""
    path = move(importance.path, job.artifacts / NAME)
    job.artifact("importance", path, path.stat().st_size, None)
