"""Where the base model is: a local directory, or the hub's shared cache, filled with what is needed."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer.job import Job

# Weights as safetensors, configuration and tokenizer; no pickle and no program ever comes down.
WANTED = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken"]
UNWANTED = ["*/*", "consolidated*", "training_args*", "optimizer*"]
SMALL = ["*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken"]

# The variables that may carry the hub token into this process.
TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUB_TOKEN", "HUGGINGFACE_TOKEN")

REPORT_SECONDS = 0.5


def find_small_files(job: Job) -> Path:
    """The directory with the model's configuration and tokenizer, before any weight is fetched."""
    if job.spec.model.path is not None:
        return Path(job.spec.model.path)
    from huggingface_hub import snapshot_download

    job.alive()
    return Path(snapshot_download(job.spec.model.name, allow_patterns=SMALL, ignore_patterns=UNWANTED))


def find_weights(job: Job) -> Path:
    """The directory of the whole model; the progress of its download goes to the journal in bytes."""
    if job.spec.model.path is not None:
        return Path(job.spec.model.path)
    return fetch(job, job.spec.model.name)


def find_reward_model(job: Job) -> Path | None:
    """The directory of the reward model that the job names (a directory, or owner/name), or None."""
    named = job.settings.reward_model
    if named is None:
        return None
    return Path(named) if Path(named).is_dir() else fetch(job, named)


def fetch(job: Job, name: str) -> Path:
    """The directory of `name` from the hub in the shared cache; progress goes to the journal."""
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
    """Takes the hub token out of this process's environment: a model's files are read after this."""
    for name in TOKEN_VARIABLES:
        os.environ.pop(name, None)


def go_offline() -> None:
    """From here on nothing in this process asks the hub: what is needed has come, and what reads a
    model's files has no business there. What the process turns into inherits it."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    hub = sys.modules.get("huggingface_hub.constants")
    if hub is not None:
        hub.HF_HUB_OFFLINE = True


def _progress_class(job: Job) -> type:
    """A tqdm that reports the bytes written to the disk as `phase` lines."""
    from tqdm import tqdm

    class Progress(tqdm):
        """Silent on the terminal; one instance counts bytes, others count files and transfers."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            # Of the hub's two bars in bytes, one counts what is on the disk, one what came over the wire.
            self._counts = kwargs.get("unit") == "B" and "Downloading" not in str(kwargs.get("desc"))
            self._last = 0.0
            super().__init__(*args, **{**kwargs, "disable": False, "file": _Nowhere()})

        def update(self, n: float | None = 1) -> bool | None:
            shown = super().update(n)
            job.alive()
            now = time.monotonic()
            if self._counts and self.total and now - self._last >= REPORT_SECONDS:
                self._last = now
                detail = f"{self.n / 1e6:.0f} of {self.total / 1e6:.0f} MB"
                job.phase("download", min(1.0, self.n / self.total), detail)
            return shown

    return Progress


class _Nowhere:
    """A stream that swallows the bar itself."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        return None
