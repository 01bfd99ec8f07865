"""Turns a base model and a trained adapter into one verified GGUF file."""

from __future__ import annotations

from typing import Any


def run_export(spec: Any, journal: Any, stop: Any = None) -> None:
    """Makes and verifies the job's GGUF files; see `run.run_export`."""
    from .run import run_export as work

    work(spec, journal, stop)
