"""The disk that a whole run will take, held against what is free before the first step."""

from __future__ import annotations

import json
import shutil
import struct
from typing import TYPE_CHECKING, Any

from trainer.failures import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from trainer.job import Job

# Left free beyond what the run needs: journal, log, TensorBoard.
SPARE_BYTES = 64 << 20
# Bytes of optimizer state per trained weight; Adam keeps two moments.
STATE_BYTES = {"sgd": 0, "adafactor": 1, "lion": 4, "rmsprop": 4, "adagrad": 4}
ADAM_BYTES = 8
# Random state, schedule and the like beside the weights of a checkpoint.
REST_BYTES = 64 << 10


def check(job: Job, model: Any, steps: int) -> None:
    """Failure `disk_full`, with the figures, when the checkpoints of `steps` optimizer steps, the adapter of
    `model` and the GGUF files are more than what is free."""
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    checkpoints = kept_checkpoints(job.settings, steps) * checkpoint_bytes(job.settings, trained)
    folder = job.folder / "checkpoints"
    there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    parts = {
        "checkpoints": max(0, checkpoints - there),
        "the adapter": trained * 4,
        "GGUF files": export_bytes(job, trained),
    }
    needed, free = sum(parts.values()) + SPARE_BYTES, shutil.disk_usage(job.folder).free
    if needed <= free:
        return
    told = ", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in parts.items() if size)
    raise Failure(
        "disk_full",
        f"The run needs about {needed / 1e9:.1f} GB of disk ({told}), and {free / 1e9:.1f} GB are free.",
        f"Free {(needed - free) / 1e9:.1f} GB (old models and checkpoints, the hub cache), set "
        "save_total_limit to 1, or set export to fewer types or to none.",
    )


def kept_checkpoints(settings: Any, steps: int) -> int:
    """How many checkpoints lie there at once: those kept, the best one, and the one being written."""
    made = 2 if settings.save_steps is None else steps // settings.save_steps + 1
    kept = made if settings.save_total_limit is None else min(made, max(1, settings.save_total_limit))
    return kept + settings.keep_best + 1


def checkpoint_bytes(settings: Any, trained: int) -> int:
    """The size of one checkpoint of `trained` weights: float32, and the optimizer's state."""
    return trained * (4 + state_bytes(settings.optim)) + REST_BYTES


def state_bytes(optimizer: str) -> int:
    """What an optimizer, by the name that the library gives it, keeps of each trained weight."""
    size = next((size for word, size in STATE_BYTES.items() if word in optimizer), ADAM_BYTES)
    return -(-size // 4) if "8bit" in optimizer else size


def export_bytes(job: Job, trained: int) -> int:
    """The size of the GGUF files that the job asks for, the one in between included."""
    if job.spec.export is None:
        return 0
    from trainer.export.convert import DIRECT_TYPES
    from trainer.export.run import BYTES_PER_WEIGHT

    weights, names = stored_weights(job.model_dir), job.spec.export.quantizations
    size = sum(BYTES_PER_WEIGHT.get(name, 0.7) for name in names) * weights
    if any(name not in DIRECT_TYPES for name in names) and not {"F32", "F16"} & set(names):
        size += 2 * weights
    return int(size) + trained * 4


def stored_weights(directory: Path) -> int:
    """How many weights the safetensors files in `directory` hold, by their headers."""
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
