"""What the dry run of an export learned (`trainer.dry_run`), as it lies in the job's folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from trainer.export.tokenizer.options import TokenizerOptions
from trainer.model.config import complete_config

NOTE = "dry-run.json"
# Failures that say nothing of the model.
OF_THE_MACHINE = ("disk_full", "out_of_memory_host", "dependency_missing")


def read(path: Path) -> dict[str, Any]:
    """A note; empty where there is none that can be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def obstacle(note: dict[str, Any]) -> dict[str, Any] | None:
    """The fields of the Failure that keeps the base from being exported; None where nothing does."""
    failed = note.get("failed")
    return None if failed is None or failed["code"] in OF_THE_MACHINE else failed


def config(folder: Path, base: Path) -> dict[str, Any]:
    """What the converter gets as configuration of the model in `base`, for the job in `folder`: that with the
    architecture's defaults, unless only the model's own file was right in the dry run."""
    if read(folder / NOTE).get("learned", {}).get("own_config"):
        return json.loads((base / "config.json").read_text("utf-8"))
    return complete_config(base)


def digest(tokens: list[list[int]]) -> str:
    """What tells the tokens of texts from those of other texts."""
    return hashlib.sha256(json.dumps(tokens).encode()).hexdigest()[:32]


def options(folder: Path, tokens: list[list[int]]) -> TokenizerOptions | None:
    """The tokenizer's options that were chosen for the job in `folder`, if by texts with these tokens."""
    found = read(folder / NOTE).get("learned")
    return TokenizerOptions(**found["options"]) if found and found["tokens"] == digest(tokens) else None
