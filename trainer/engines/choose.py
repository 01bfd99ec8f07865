"""Chooses how a job's ranks run, and refuses what they cannot train."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.data.steps import share_of_step
from trainer.engines import local, single
from trainer.engines.cluster import address
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.data.job import Job, Provider, Strategy, Trained


NOT_ON_WINDOWS = "several workers are not supported on Windows itself; WSL 2 supports them"


def engine_of(job: Job) -> Callable[..., Trained]:
    """The function that trains `job`: see `local.train`."""
    if job.settings.workers == 1:
        return single.train
    if address.wanted() is None:
        return local.train
    from trainer.engines.cluster import driver

    return driver.train


def engines() -> list[dict[str, object]]:
    """The engines, with their names and descriptions, and why one cannot be used here (None where it can)."""
    why_one = NOT_ON_WINDOWS if os.name == "nt" else None
    found = {
        "single": ("One process", "Trains in one process.", None),
        "local": ("This machine", "Trains with several workers on this machine.", why_one),
        "cluster": (
            "Cluster",
            "Trains with several workers on the machines of a Ray cluster.",
            why_one or address.why_no_cluster(),
        ),
    }
    return [
        {"name": name, "label": label, "description": text, "available": reason is None, "reason": reason}
        for name, (label, text, reason) in found.items()
    ]


def why_one_worker(strategy: Strategy | type[Strategy], provider: Provider | type[Provider]) -> str | None:
    """Why a strategy and a provider train with one worker alone, or None."""
    if os.name == "nt":
        return NOT_ON_WINDOWS
    return getattr(strategy, "why_one_worker", None) or getattr(provider, "why_one_worker", None)


def refuse_workers(job: Job) -> None:
    """Failure `unsupported` when the job has several workers and cannot."""
    settings = job.settings
    if settings.workers == 1:
        return
    why = why_one_worker(job.strategy, job.provider)
    if why is not None:
        raise Failure("unsupported", f"workers is {settings.workers}: {why}.", "Set workers to 1.")
    if share_of_step(settings, settings.workers) is None:
        raise Failure(
            "unsupported",
            f"A step of {settings.per_device_train_batch_size} × {settings.gradient_accumulation_steps} rows "
            f"(per_device_train_batch_size × gradient_accumulation_steps) cannot be divided among "
            f"{settings.workers} workers.",
            f"Set gradient_accumulation_steps to a multiple of {settings.workers}, or change workers.",
        )
