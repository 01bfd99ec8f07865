"""Finds the base model: in a local directory, or in the hub cache, which it downloads to."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.libraries.huggingface_hub import stay_offline
from trainer.protocol.print_result import print_result

if TYPE_CHECKING:
    from trainer.protocol.context import JobContext

# Weights as safetensors, configuration and tokenizer: never a pickle file or code.
WANTED = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken"]
# No folders but for the chat templates in them, whose names alone end with an a.
UNWANTED = ["*/*[!a]", "consolidated*", "training_args*", "optimizer*"]
SMALL = ["*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken"]

# Environment variables that may contain the hub token.
TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUB_TOKEN", "HUGGINGFACE_TOKEN")

# Those and the addresses of proxies, which may contain a password (src/contract/child-environment.ts).
SECRETS = (*TOKEN_VARIABLES, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

REPORT_SECONDS = 0.5
# Files that are downloaded at once.
AT_ONCE = 4

# Hears the bytes that are here, and of how many: None while there are files that have not begun, whose sizes
# are not known.
Report = Callable[[float, float | None], None]


def from_hub(job: JobContext) -> bool:
    """Whether the job's model, its reward model or its teacher comes from the hub."""
    named, model, teacher = job.spec.settings.reward_model, job.spec.model, job.spec.teacher
    path = model.path if model.adapter is None else model.adapter.base_path
    others = [named is not None and not Path(named).is_dir(), teacher is not None and teacher.path is None]
    return path is None or any(others)


def _place(job: JobContext) -> tuple[str, Path | None]:
    """The name of what is downloaded and None, or a local directory: those of the job's model, or of the base
    of its adapter as long as that is not merged."""
    model = job.spec.model
    if model.adapter is not None and not (Path(model.path or "") / "config.json").is_file():
        path = model.adapter.base_path
        return model.adapter.base, None if path is None else Path(path)
    return model.name, None if model.path is None else Path(model.path)


def find_small_files(job: JobContext, downloaded: bool) -> Path:
    """The directory with the model's configuration and tokenizer, without its weights; of an adapter that is
    still to be merged, that of its base.

    Models that are `downloaded` are looked up in the cache alone, here and below.
    """
    name, path = _place(job)
    if path is not None:
        return path
    if downloaded:
        return find_downloaded(name, SMALL)
    from huggingface_hub import snapshot_download

    job.beat_or_stop()
    return Path(snapshot_download(name, allow_patterns=SMALL, ignore_patterns=UNWANTED))


def find_weights(job: JobContext, downloaded: bool) -> Path:
    """The directory of the whole model, downloaded if needed; of an adapter that is still to be merged, that
    of its base."""
    name, path = _place(job)
    if path is not None:
        return path
    return find_downloaded(name) if downloaded else fetch(job, name)


def find_reward_model(job: JobContext, downloaded: bool) -> Path | None:
    """The directory of the job's reward model (a directory, or owner/name), or None."""
    named = job.spec.settings.reward_model
    if named is None:
        return None
    if Path(named).is_dir():
        return Path(named)
    return find_downloaded(named) if downloaded else fetch(job, named)


def find_teacher(job: JobContext, downloaded: bool) -> Path | None:
    """The directory of the job's teacher, without its adapter, or None."""
    teacher = job.spec.teacher
    if teacher is None:
        return None
    if teacher.path is not None:
        return Path(teacher.path)
    return find_downloaded(teacher.name) if downloaded else fetch(job, teacher.name)


def fetch(job: JobContext, name: str) -> Path:
    """Downloads `name` to the hub cache and reports progress; returns its directory."""

    def report(done: float, total: float | None) -> None:
        if total is None:
            job.phase("download", None, f"{done / 1e6:.0f} MB")
        else:
            job.phase("download", done / total, f"{done / 1e6:.0f} of {total / 1e6:.0f} MB")

    job.phase("download", 0.0, None)
    path = _download(name, report, job.beat_or_stop)
    job.phase("download", 1.0, None)
    return path


def download(name: str) -> int:
    """Downloads `name` to the hub cache and prints how far it is as lines of JSON, then its directory as
    `print_result`; returns the status. What is there when it is killed is not downloaded again."""

    def report(done: float, total: float | None) -> None:
        share = 0 if total is None else done / total
        whole = None if total is None else round(total)
        print(json.dumps({"progress": share, "bytes": [round(done), whole]}), flush=True)

    return print_result(lambda: {"path": str(_download(name, report, lambda: None))})


def _download(name: str, report: Report, beat: Callable[[], None]) -> Path:
    """Downloads `name` to the hub cache."""
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(
            name,
            allow_patterns=WANTED,
            ignore_patterns=UNWANTED,
            tqdm_class=progress_class(report, beat),
            max_workers=AT_ONCE,
        )
    )


def find_downloaded(name: str, wanted: list[str] = WANTED) -> Path:
    """The directory of a model in the hub cache."""
    from huggingface_hub import snapshot_download

    # With other patterns the client reports the cached files as incomplete.
    return Path(
        snapshot_download(name, local_files_only=True, allow_patterns=wanted, ignore_patterns=UNWANTED)
    )


def forget_secrets() -> bool:
    """Removes the hub token and proxies from the environment; whether there were any.

    The memory of this process and /proc/self/environ still have them: see `replace_process`.
    """
    found = [name for name in os.environ if name.upper() in SECRETS]
    for name in found:
        del os.environ[name]
    return bool(found)


def replace_process(*arguments: str) -> None:
    """Replaces this process (exec, same pid) by `python -m trainer` with `arguments`, offline and without
    secrets."""
    forget_secrets()
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "trainer", *arguments])


def go_offline() -> None:
    """Takes the hub client offline in this process and in the export that replaces it: everything is
    downloaded."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    stay_offline()


def progress_class(report: Report, beat: Callable[[], None]) -> type:
    """A tqdm class that reports bytes."""
    from tqdm import tqdm

    files: list[tqdm] = []

    class Progress(tqdm):
        """Prints nothing; reports the one bar that counts bytes on the disk."""

        def __init__(self, *args: object, **kwargs: object) -> None:
            # The hub client has two bars in bytes: on the disk, and "Downloading" over the network.
            self._counts = kwargs.get("unit") == "B" and "Downloading" not in str(kwargs.get("desc"))
            self._last = 0.0
            super().__init__(*args, **{**kwargs, "disable": False, "file": _NullStream()})
            if kwargs.get("unit") != "B":
                files.append(self)

        def update(self, n: float | None = 1) -> bool | None:
            shown = super().update(n)
            beat()
            now = time.monotonic()
            if self._counts and self.total and now - self._last >= REPORT_SECONDS:
                self._last = now
                # The client adds a file's size to the total when it begins with it.
                begun = any(bar.total - bar.n <= AT_ONCE for bar in files)
                report(min(self.n, self.total), self.total if begun else None)
            return shown

    return Progress


class _NullStream:
    """A stream that discards everything."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        return None
