"""Checkpoints that are complete or absent: written aside, synced, renamed, and a marker last of all."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.durable import sync_folder, sync_tree, write_json

MARKER = "COMPLETE"


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint. `facts` is what was stored with it beside the library's own files."""

    path: Path
    step: int
    facts: dict[str, Any]


def aside(folder: Path) -> Path:
    """An empty folder to write the next checkpoint into; a torn one of before is thrown away."""
    path = folder / ".aside"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def seal(written: Path, folder: Path, step: int, facts: dict[str, Any]) -> Checkpoint:
    """Makes the folder `written` the checkpoint of `step`; an earlier one of that step is replaced."""
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


def newest(folder: Path) -> tuple[Checkpoint | None, list[tuple[str, str]]]:
    """The newest checkpoint whose files are all there, and the newer ones passed over (name, why)."""
    skipped: list[tuple[str, str]] = []
    for path in reversed(_by_step(folder)):
        try:
            return _verify(path), skipped
        except (OSError, ValueError, KeyError, TypeError) as error:
            skipped.append((path.name, str(error)))
    return None, skipped


def complete(folder: Path, step: int) -> Checkpoint | None:
    """The checkpoint of `step` when it is complete."""
    try:
        return _verify(folder / f"checkpoint-{step}")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def prune(folder: Path, limit: int | None, best_step: int | None) -> None:
    """Deletes the oldest until `limit` are left; the best one is kept beside them."""
    if limit is None:
        return
    paths = _by_step(folder)
    kept = {path.name for path in paths[-max(limit, 1) :]} | {f"checkpoint-{best_step}"}
    for path in paths:
        if path.name not in kept:
            (path / MARKER).unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)


def _by_step(folder: Path) -> list[Path]:
    """The folders named like checkpoints, oldest first."""
    if not folder.is_dir():
        return []
    found = [(re.fullmatch(r"checkpoint-(\d+)", path.name), path) for path in folder.iterdir()]
    return [path for _, path in sorted((int(match[1]), path) for match, path in found if match)]


def _verify(path: Path) -> Checkpoint:
    """The checkpoint at `path`; ValueError or OSError says what is wrong with it."""
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
