"""One rank: this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer.data.job import Job


def train(job: Job, work: Callable[[Job], dict[str, Any]], lose: Callable[..., None]) -> dict[str, Any]:
    """What `work` returns; there is no other rank to `lose`."""
    return work(job)
