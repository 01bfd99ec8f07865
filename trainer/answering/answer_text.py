"""The text of an answer as its tokens arrive."""

from __future__ import annotations

from collections.abc import Callable

INCOMPLETE = "\ufffd"


class AnswerText:
    """Turns tokens into the text to show: complete characters, without white space around the answer, and
    nothing of a stop text, not even its beginning. `begun` are the last tokens of an answer that goes on."""

    def __init__(self, decode: Callable[[list[int]], str], stops: list[str], begun: list[int]) -> None:
        self._decode = decode
        self._stops = [stop for stop in stops if stop]
        self._ids = [*begun]
        # The text of the tokens before `shown` is out. Decoding starts a few tokens earlier, because the text
        # of a token depends on those around it.
        self._from = 0
        self._shown = len(begun)
        self._held = ""
        self._begun = begun != []
        # The stop text that ended the answer.
        self.stop: str | None = None

    def push(self, token: int) -> str:
        """Takes the next token; returns the text to show now."""
        self._ids.append(token)
        before = self._decode(self._ids[self._from : self._shown])
        now = self._decode(self._ids[self._from :])
        if len(now) <= len(before) or now.endswith(INCOMPLETE):
            return ""
        self._from, self._shown = self._shown, len(self._ids)
        return self._take(now[len(before) :])

    def end(self) -> str:
        """The text that was held back, at the end of the answer."""
        rest = "" if self.stop is not None else self._held.rstrip()
        self._held = ""
        return rest

    def _take(self, text: str) -> str:
        self._held += text
        if not self._begun:
            self._held = self._held.lstrip()
            self._begun = self._held != ""
        found = [(at, stop) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if found:
            at, self.stop = min(found, key=lambda one: one[0])
            shown, self._held = self._held[:at].rstrip(), ""
            return shown
        keep = max((self._overlap(stop) for stop in self._stops), default=0)
        shown = self._held[: len(self._held) - keep].rstrip()
        self._held = self._held[len(shown) :]
        return shown

    def _overlap(self, stop: str) -> int:
        """How many of the last characters may begin `stop`."""
        lengths = range(min(len(stop) - 1, len(self._held)), 0, -1)
        return next((length for length in lengths if self._held.endswith(stop[:length])), 0)
