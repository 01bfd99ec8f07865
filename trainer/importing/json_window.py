"""A JSON text that is read forwards: where its lists are, and what is between them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from trainer.importing.faults import Fault
from trainer.importing.limits import MAXIMUM_ROW_BYTES

# Characters that are read at a time.
TEXT_CHARACTERS = 2**20
# Lists are found within objects down to this level.
MAXIMUM_LEVELS = 4

JSON_SPACE = re.compile(r"[ \t\r\n]*")
SCALAR = json.JSONDecoder().raw_decode


class JsonWindow:
    """A part of a text that is read forwards."""

    def __init__(self, file: TextIO):
        self.file, self.text, self.at, self.line, self.ended = file, "", 0, 1, False
        # Whether a part of it could not be decoded as many objects of one kind.
        self.is_uneven = False

    def more(self) -> None:
        """Reads on, dropping what is before the place."""
        read = self.file.read(max(TEXT_CHARACTERS, len(self.text) - self.at))
        self.text, self.at, self.ended = self.text[self.at :] + read, 0, read == ""

    def move(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def step(self) -> None:
        """Moves behind the next character."""
        self.move(self.at + len(self.next()))

    def next(self) -> str:
        """The next character that is no white space, or nothing at the end."""
        while True:
            if space := JSON_SPACE.match(self.text, self.at):
                self.move(space.end())
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.more()


def seek(window: JsonWindow, path: Sequence[str]) -> None:
    """Moves to the value under the keys of a path. @raises Fault where there is none."""
    for key in path:
        for name in _keys(window):
            if name == key:
                break
            _skip(window)
        else:
            raise Fault(f'There is nothing under the key "{key[:100]}".')
    window.next()


def lists_of(window: JsonWindow, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """The paths of the lists of objects within the object that comes next, each with its length."""
    for name in _keys(window):
        first = window.next()
        if first == "{" and len(path) < MAXIMUM_LEVELS:
            yield from lists_of(window, (*path, name))
        elif first == "[":
            count = _skip(window)
            if count:
                yield (*path, name), count
        else:
            _skip(window)


def _keys(window: JsonWindow) -> Iterator[str]:
    """The keys of the object that comes next; whoever takes one reads its value."""
    if window.next() != "{":
        raise _invalid(window, "an object must stand here")
    window.step()
    if window.next() == "}":
        window.step()
        return
    while True:
        name = _scalar(window)
        if not isinstance(name, str) or window.next() != ":":
            raise _invalid(window, "a key in double quotes with a colon must stand here")
        window.step()
        yield name
        follows = window.next()
        window.step()
        if follows == "}":
            return
        if follows != ",":
            raise _invalid(window, "a comma must stand here" if follows else "the object is cut short")


def _skip(window: JsonWindow) -> int:
    """Moves behind a value. @returns how many objects it has, if it is a list of nothing else."""
    first = window.next()
    if first == "{":
        for _ in _keys(window):
            _skip_nested(window)
        return 0
    if first != "[":
        _scalar(window)
        return 0
    window.step()
    count, others = 0, 0
    if window.next() == "]":
        window.step()
        return 0
    while True:
        is_object = window.next() == "{"
        count += is_object
        others += not is_object
        _skip_nested(window)
        follows = window.next()
        window.step()
        if follows == "]":
            return 0 if others else count
        if follows != ",":
            raise _invalid(window, "a comma must stand here" if follows else "the list is cut short")


def _skip_nested(window: JsonWindow) -> None:
    try:
        _scalar(window)
    except RecursionError:
        raise _invalid(window, "it is nested too deeply") from None


def _scalar(window: JsonWindow) -> object:
    """The value that comes next, which is held in memory."""
    window.next()
    while True:
        try:
            value, end = SCALAR(window.text, window.at)
            # A number may go on behind what was read.
            if end < len(window.text) or window.ended:
                window.move(end)
                return value
        except ValueError as error:
            if window.ended:
                raise _invalid(window, f"{getattr(error, 'msg', 'a number is too long')}") from None
        if len(window.text) - window.at > MAXIMUM_ROW_BYTES:
            raise Fault(f"Line {window.line}: a value is longer than {MAXIMUM_ROW_BYTES} bytes.", window.line)
        window.more()


def _invalid(window: JsonWindow, what: str) -> Fault:
    return Fault(f"Line {window.line}: invalid JSON ({what}). Correct it.", window.line)
