"""Atomic checkpoints: written to a temporary folder, synced, renamed, and then marked as complete."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from trainer.protocol.durable import sync_folder, sync_tree, write_json

MARKER = "COMPLETE"

# Files that the library unpickles when it resumes.
STATES = ("optimizer.pt", "scheduler.pt", "scaler.pt", "rng_state.pth", "rng_state_*.pth")


class Facts(TypedDict, total=False):
    """What Hone stores beside the library's files."""

    total_steps: int
    finished: bool
    tokens: int
    elapsed_seconds: float
    metrics: dict[str, float]
    evaluations: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint. `facts` is what Hone stored beside the library's files."""

    path: Path
    step: int
    facts: Facts


def temporary_folder(folder: Path) -> Path:
    """An empty temporary folder for the next checkpoint; a partial one is deleted."""
    path = folder / ".aside"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def seal(written: Path, folder: Path, step: int, facts: Facts) -> Checkpoint:
    """Makes the folder `written` the checkpoint of `step`, replacing an earlier one of that step."""
    files = {
        str(path.relative_to(written)): path.stat().st_size for path in written.rglob("*") if path.is_file()
    }
    sync_tree(written)
    final = folder / f"checkpoint-{step}"
    if final.exists():
        (final / MARKER).unlink(missing_ok=True)
        shutil.rmtree(final)
    written.rename(final)
    sync_folder(folder)
    write_json(final / MARKER, {"step": step, "files": files, **facts})
    return Checkpoint(final, step, facts)


def newest(folder: Path, to_train: bool = True) -> tuple[Checkpoint | None, list[tuple[str, str]]]:
    """The newest complete checkpoint, and the newer ones that were skipped (name, reason).

    With `to_train` its optimizer state must be safe to load, too; checking that imports torch.
    """
    skipped: list[tuple[str, str]] = []
    for path in reversed(_by_step(folder)):
        try:
            found = _verify(path)
            if to_train:
                _refuse_code(path)
            return found, skipped
        except (OSError, ValueError, KeyError, TypeError) as error:
            skipped.append((path.name, str(error)))
    return None, skipped


def complete(folder: Path, step: int) -> Checkpoint | None:
    """The checkpoint of `step` when it is complete."""
    try:
        return _verify(folder / f"checkpoint-{step}")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def kept(folder: Path) -> list[Checkpoint]:
    """The complete checkpoints, oldest first."""
    steps = (int(path.name.removeprefix("checkpoint-")) for path in _by_step(folder))
    return [found for step in steps if (found := complete(folder, step)) is not None]


def prune(folder: Path, limit: int, best_step: int | None) -> None:
    """Deletes the oldest until `limit` are left; the best one is kept in addition."""
    paths = _by_step(folder)
    kept = {path.name for path in paths[-max(limit, 1) :]} | {f"checkpoint-{best_step}"}
    for path in paths:
        if path.name not in kept:
            (path / MARKER).unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)


def _by_step(folder: Path) -> list[Path]:
    """The checkpoint folders, oldest first."""
    if not folder.is_dir():
        return []
    found = [(re.fullmatch(r"checkpoint-(\d+)", path.name), path) for path in folder.iterdir()]
    return [path for _, path in sorted((int(match[1]), path) for match, path in found if match)]


def _refuse_code(path: Path) -> None:
    """ValueError when a state file of the checkpoint at `path` is no torch archive, or contains anything but
    numbers, tensors and containers, which could run code when unpickled. Nothing is unpickled here.
    """
    import torch
    from transformers.trainer_pt_utils import safe_globals

    for file in (file for name in STATES for file in sorted(path.glob(name))):
        name = file.name
        try:
            # Allows numpy arrays, as the library does: the random state has one.
            with safe_globals():
                named = torch.serialization.get_unsafe_globals_in_checkpoint(file)
        except (ValueError, RuntimeError, pickle.UnpicklingError) as error:
            raise ValueError(f"{name} cannot be read as saved state ({error})") from error
        if named:
            raise ValueError(f"{name} would run {', '.join(sorted(named)[:3])} when it is read")


def _verify(path: Path) -> Checkpoint:
    """The checkpoint at `path`; ValueError or OSError with what is wrong with it."""
    if not (path / MARKER).is_file():
        raise ValueError("it was never finished")
    facts = json.loads((path / MARKER).read_text(encoding="utf-8"))
    for name, size in facts.pop("files").items():
        file = path / name
        if not file.is_file():
            raise ValueError(f"{name} is missing")
        if file.stat().st_size != size:
            raise ValueError(f"{name} has {file.stat().st_size} bytes instead of {size}")
    return Checkpoint(path, facts.pop("step"), facts)
