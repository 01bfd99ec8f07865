"""What ends an export early without being a failure."""

from __future__ import annotations


class Stopped(Exception):
    """Raised between two tensors when the job's stop file has appeared."""
