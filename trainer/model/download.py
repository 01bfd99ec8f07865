"""Finds the base model: in a local directory, or in the hub cache, which it downloads to."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer.training.job import Job

# Weights as safetensors, configuration and tokenizer: never a pickle file or code.
WANTED = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken"]
UNWANTED = ["*/*", "consolidated*", "training_args*", "optimizer*"]
SMALL = ["*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken"]

# Environment variables that may contain the hub token.
TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUB_TOKEN", "HUGGINGFACE_TOKEN")

REPORT_SECONDS = 0.5


def find_small_files(job: Job) -> Path:
    """The directory with the model's configuration and tokenizer, without its weights."""
    if job.spec.model.path is not None:
        return Path(job.spec.model.path)
    from huggingface_hub import snapshot_download

    job.beat_or_stop()
    return Path(snapshot_download(job.spec.model.name, allow_patterns=SMALL, ignore_patterns=UNWANTED))


def find_weights(job: Job) -> Path:
    """The directory of the whole model, downloaded if needed."""
    if job.spec.model.path is not None:
        return Path(job.spec.model.path)
    return fetch(job, job.spec.model.name)


def find_reward_model(job: Job) -> Path | None:
    """The directory of the job's reward model (a directory, or owner/name), or None."""
    named = job.settings.reward_model
    if named is None:
        return None
    return Path(named) if Path(named).is_dir() else fetch(job, named)


def fetch(job: Job, name: str) -> Path:
    """Downloads `name` to the hub cache and reports progress; returns its directory."""
    from huggingface_hub import snapshot_download

    job.phase("download", 0.0, None)
    path = snapshot_download(
        name,
        allow_patterns=WANTED,
        ignore_patterns=UNWANTED,
        tqdm_class=_progress_class(job),
        max_workers=4,
    )
    job.phase("download", 1.0, None)
    return Path(path)


def forget_token() -> None:
    """Removes the hub token from the environment, before files of a model are read."""
    for name in TOKEN_VARIABLES:
        os.environ.pop(name, None)


def go_offline() -> None:
    """Takes the hub client offline in this process and in the export that replaces it: everything is
    downloaded."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    hub = sys.modules.get("huggingface_hub.constants")
    if hub is not None:
        hub.HF_HUB_OFFLINE = True


def _progress_class(job: Job) -> type:
    """A tqdm class that reports bytes as `phase` lines."""
    from tqdm import tqdm

    class Progress(tqdm):
        """Prints nothing; reports the one bar that counts bytes on the disk."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            # The hub client has two bars in bytes: on the disk, and "Downloading" over the network.
            self._counts = kwargs.get("unit") == "B" and "Downloading" not in str(kwargs.get("desc"))
            self._last = 0.0
            super().__init__(*args, **{**kwargs, "disable": False, "file": _NullStream()})

        def update(self, n: float | None = 1) -> bool | None:
            shown = super().update(n)
            job.beat_or_stop()
            now = time.monotonic()
            if self._counts and self.total and now - self._last >= REPORT_SECONDS:
                self._last = now
                detail = f"{self.n / 1e6:.0f} of {self.total / 1e6:.0f} MB"
                job.phase("download", min(1.0, self.n / self.total), detail)
            return shown

    return Progress


class _NullStream:
    """A stream that discards everything."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        return None
