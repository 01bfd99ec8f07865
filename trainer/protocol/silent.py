"""Reports of ranks other than rank 0, which nobody reads: rank 0 reports for all."""

from __future__ import annotations

from trainer.protocol.context import JobContext
from trainer.protocol.contracts import Spec


class SilentJournal:
    """A journal that writes nothing."""

    def write(self, type: str, **fields: object) -> None:
        """Writes nothing."""


class SilentHeartbeat:
    """A heartbeat that touches nothing."""

    def beat(self) -> None:
        """Touches nothing."""


class NoStop:
    """Stop requests go to rank 0, which tells the others."""

    def reason(self) -> None:
        """Never requested here."""

    def raise_if_requested(self) -> None:
        """Never raises."""


def silent_context(spec: Spec) -> JobContext:
    """The context of a rank that reports nothing."""
    return JobContext(spec, SilentJournal(), SilentHeartbeat(), NoStop())
