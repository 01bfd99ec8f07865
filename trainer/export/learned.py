"""What the dry run of an export learned (`trainer.dry_run`), as it lies in the job's folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from trainer.export.tokenizer.options import TokenizerOptions
from trainer.model.config import complete_config

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

NOTE = "dry-run.json"
# Failures that say nothing of the model.
OF_THE_MACHINE = ("disk_full", "out_of_memory_host", "dependency_missing")


class Learned(TypedDict, total=False):
    """What the dry run found out; `tokens` is a digest of the texts' tokens that it chose the options by."""

    own_config: bool
    options: dict[str, bool]
    tokens: str


class Note(TypedDict, total=False):
    """A note: what was learned, and the fields of a Failure."""

    key: str
    learned: Learned
    failed: dict[str, str]


def read(path: Path) -> Note:
    """A note; empty where there is none that can be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("Note", found) if isinstance(found, dict) else {}


def obstacle(note: Note) -> dict[str, str] | None:
    """The fields of the Failure that keeps the base from being exported; None where nothing does."""
    failed = note.get("failed")
    return None if failed is None or failed["code"] in OF_THE_MACHINE else failed


def config(folder: Path, base: Path) -> ModelConfig:
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
