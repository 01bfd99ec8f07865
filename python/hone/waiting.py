"""Waiting for what the service does, with what is seen meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from hone.errors import Unreachable

T = TypeVar("T")

POLL_SECONDS = 0.5
#: The service counts as gone after this many polls in a row without an answer, which a restart takes.
MOST_FAILED_POLLS = 20


def wait_for(ask: Callable[[], T], is_done: Callable[[T], bool], seen: Callable[[T], None]) -> T:
    """Asks until `is_done`, and shows each answer. Raises Unreachable if the service stays away."""
    failed = 0
    while True:
        try:
            answer = ask()
        except Unreachable:
            failed += 1
            if failed > MOST_FAILED_POLLS:
                raise
        else:
            failed = 0
            seen(answer)
            if is_done(answer):
                return answer
        time.sleep(POLL_SECONDS)


class Display:
    """Shows what changes: in place in a notebook and on a terminal, elsewhere a line for each change."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._last = ""

    def show(self, thing: Any) -> None:
        """Shows `thing` by its `_repr_html_` in a notebook, by its `str` elsewhere."""
        text = str(thing)
        if _in_notebook():
            from IPython.display import display

            if self._handle is None:
                self._handle = display(thing, display_id=True)
            else:
                self._handle.update(thing)
        elif sys.stdout.isatty():
            print(f"\r\x1b[2K{text}", end="", flush=True)
        elif text != self._last:
            print(text, flush=True)
        self._last = text

    def end(self) -> None:
        """Ends the line."""
        if sys.stdout.isatty() and not _in_notebook():
            print()


def _in_notebook() -> bool:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"
