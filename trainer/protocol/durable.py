"""Writes that survive a power loss: files are complete or absent."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def write_json(path: Path, value: object) -> None:
    """Writes `value` to a temporary file, syncs it and renames it to `path`."""
    aside = path.with_name(path.name + ".tmp")
    with open(aside, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    sync_folder(path.parent)


@contextmanager
def whole_folder(folder: Path, missing: Callable[[], bool]) -> Iterator[Path]:
    """A folder to fill, which becomes `folder` afterwards, whole or not at all. `missing` says whether it is
    still to be made: another process may have made it in the meantime."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        yield aside
        sync_tree(aside)
        try:
            os.replace(aside, folder)
        except OSError:
            if missing():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def sync_tree(folder: Path) -> None:
    """Syncs every file below `folder` and the folders to the disk."""
    for root, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(os.path.join(root, name), os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(Path(root))


def sync_folder(folder: Path) -> None:
    """Syncs the entries of `folder` to the disk, where the platform supports it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
