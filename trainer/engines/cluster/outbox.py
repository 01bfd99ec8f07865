"""What rank 0 reports from its node: the driver fetches it and writes the job folder."""

from __future__ import annotations

import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from trainer.engines.cluster.parcels import pieces
from trainer.protocol.contracts import check_line
from trainer.protocol.stop import Stopped

# How long a fetch waits for the first message.
FETCH_SECONDS = 0.2
# The most pieces of files that wait to be fetched.
WAITING = 8


Message = tuple[Literal["file"], str, bytes, bool] | tuple[Literal["line"], str, dict[str, Any]]


class Reports:
    """The journal, heartbeat and stop of a job's context, as messages in their order: `("file", relative
    path, piece, first)` and `("line", type, fields)`. `asked` is the reason of a stop request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: str | None = None

    def put(self, message: Message) -> None:
        """Hands on a message."""
        raise NotImplementedError

    def flush(self) -> None:
        """Returns when the driver has dealt with everything."""
        raise NotImplementedError

    def beat(self) -> None:
        """A sign of life."""
        raise NotImplementedError

    def send(self, relative: str) -> None:
        """Sends the file or the files of the folder at `relative`."""
        path = self.folder / relative
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                name = file.relative_to(self.folder).as_posix()
                for piece, first, _ in pieces(file):
                    self.put(("file", name, piece, first))

    def write(self, type: str, **fields: object) -> None:
        """A journal line. What it tells of is sent first, and the run goes on when that lies in the job's
        folder."""
        check_line(type, fields)
        if "path" in fields:
            self.send(str(fields["path"]))
        if type == "checkpoint" and (self.folder / "probe.json").exists():
            self.send("probe.json")
        self.put(("line", type, fields))
        if "path" in fields:
            self.flush()

    def reason(self) -> str | None:
        """`stop`, `signal` or None."""
        return self.asked

    def raise_if_requested(self) -> None:
        """Raises Stopped when a stop was requested."""
        if self.asked:
            raise Stopped


class Outbox(Reports):
    """Keeps the messages until the driver fetches them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.waiting: queue.Queue[Message] = queue.Queue(WAITING)
        self.fetched = 0
        self.beaten = False
        # Called with the reason of a stop request.
        self.on_stop: Callable[[str | None], None] | None = None

    def fetch(self, stop: str | None) -> tuple[bool, list[Message]]:
        """Whether there was a sign of life, and the messages since the last call, which have then been dealt
        with; `stop` is the reason of a stop request."""
        asked, self.asked = self.asked, stop
        if stop != asked and self.on_stop is not None:
            self.on_stop(stop)
        for _ in range(self.fetched):
            self.waiting.task_done()
        messages: list[Message] = []
        try:
            messages.append(self.waiting.get(timeout=FETCH_SECONDS))
            while messages[-1][0] == "line":
                messages.append(self.waiting.get_nowait())
        except queue.Empty:
            pass
        self.fetched = len(messages)
        beaten, self.beaten = self.beaten, False
        return beaten, messages

    def put(self, message: Message) -> None:
        """Waits while many others wait."""
        self.waiting.put(message)

    def flush(self) -> None:
        """Returns when the driver has dealt with everything."""
        self.waiting.join()

    def beat(self) -> None:
        """A sign of life."""
        self.beaten = True
