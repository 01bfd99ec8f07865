"""What can go wrong between a program and the service."""

from __future__ import annotations

from typing import Any


class HoneError(Exception):
    """The parent of all errors of this package."""


class Unreachable(HoneError):
    """No service answers at the address."""


class Refused(HoneError):
    """The service refused a request.

    Attributes:
        status: of HTTP.
        issues: the faults of the request, each with `loc` and `msg`.
    """

    def __init__(self, status: int, message: str, issues: list[dict[str, Any]]) -> None:
        super().__init__(message)
        self.status = status
        self.issues = issues
