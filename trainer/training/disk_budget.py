"""Checks, before the first step, that the disk has room for the whole run.

The service computes the need (`src/domain/training/estimate/disk-need.ts`) and passes it in the
specification.
"""

from __future__ import annotations

import json
import shutil
import struct
from typing import TYPE_CHECKING

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedModel

    from trainer.data.job import Job
    from trainer.protocol.contracts import Disk

# Bytes of optimizer state per trained weight.
STATE_BYTES = {"sgd": 0, "adafactor": 1, "lion": 4, "rmsprop": 4, "adagrad": 4}
# Adam keeps two moments.
ADAM_BYTES = 8


def check(job: Job, model: PreTrainedModel) -> None:
    """Failure `disk_full` when the run will write more than is free."""
    disk = job.spec.disk
    if disk is None:
        return
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    folder = job.folder / "checkpoints"
    there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    parts = need(disk, 0 if job.spec.export is None else stored_weights(job.model_dir), trained)
    parts["checkpoints"] = max(0, parts["checkpoints"] - there)
    refuse_beyond_free(
        job.folder,
        parts,
        disk.spare_bytes,
        "(old models and checkpoints, the hub cache), set save_total_limit to 1, or set export to fewer "
        "types or to none.",
    )


def need(disk: Disk, weights: int, trained: int) -> dict[str, float]:
    """The bytes that a run writes, by part, for a base model of `weights` weights that is exported (0 when it
    is not) and `trained` trained weights."""
    return {
        "checkpoints": disk.checkpoints_bytes + disk.checkpoints_per_trained_weight * trained,
        "export": disk.export_per_weight * weights + disk.export_per_trained_weight * trained,
    }


def refuse_beyond_free(folder: Path, parts: dict[str, float], spare: float, advice: str) -> None:
    """Failure `disk_full` when `parts` and `spare` bytes are more than is free."""
    needed, free = sum(parts.values()) + spare, shutil.disk_usage(folder).free
    if needed <= free:
        return
    listed = ", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in parts.items() if size)
    raise Failure(
        "disk_full",
        f"The run needs about {needed / 1e9:.1f} GB of disk ({listed}), and {free / 1e9:.1f} GB are free.",
        f"Free {(needed - free) / 1e9:.1f} GB {advice}",
    )


def state_bytes(optimizer: str) -> int:
    """Bytes of state per trained weight of an optimizer, by its name in transformers."""
    size = next((size for word, size in STATE_BYTES.items() if word in optimizer), ADAM_BYTES)
    return -(-size // 4) if "8bit" in optimizer else size


def stored_weights(directory: Path) -> int:
    """The number of weights in the safetensors files of `directory`, from their headers."""
    count = 0
    for path in directory.glob("*.safetensors"):
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
        for name, entry in header.items():
            if name != "__metadata__":
                size = 1
                for dimension in entry["shape"]:
                    size *= dimension
                count += size
    return count
