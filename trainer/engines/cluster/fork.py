"""A rank in a fork of the node's keeper: its actor hands on what it reports, and ends with it."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.engines.cluster.outbox import Message, Outbox, Reports
from trainer.engines.cluster.train_rank import train_rank

if TYPE_CHECKING:
    from trainer.engines.cluster.train_rank import Ended, Place, RankTask

# As often as the driver asks for one.
BEAT_SECONDS = 0.2


class PipedReports(Reports):
    """Reports to the actor of this rank. It tells when one is in the job's folder, and of a stop request."""

    def __init__(self, folder: Path, connection: Connection) -> None:
        super().__init__(folder)
        self.connection = connection
        self.flushed = threading.Event()
        self.telling = threading.Lock()
        self.beaten_at = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            while True:
                kind, value = self.connection.recv()
                if kind == "stop":
                    self.asked = value
                else:
                    self.flushed.set()
        except (EOFError, OSError):
            # The actor was killed.
            os._exit(1)

    def post(self, kind: str, value: object = None) -> None:
        """Sends one of the messages that `hand_on` takes."""
        with self.telling:
            self.connection.send((kind, value))

    def put(self, message: Message) -> None:
        """Hands `message` to the actor."""
        self.post("message", message)

    def flush(self) -> None:
        """Returns when the driver has dealt with everything."""
        self.flushed.clear()
        self.post("flush")
        self.flushed.wait()

    def beat(self) -> None:
        """A sign of life."""
        if time.monotonic() - self.beaten_at > BEAT_SECONDS:
            self.beaten_at = time.monotonic()
            self.post("beat")


def train(connection: Connection, folder: Path, place: Place, task: RankTask) -> None:
    """Trains as the rank of the actor at the other end of `connection`."""
    reports = PipedReports(folder, connection)
    reports.post("result", train_rank(reports, place, task))


def hand_on(connection: Connection, outbox: Outbox) -> Ended:
    """Hands on what the fork at the other end of `connection` reports; returns its result. This process ends
    when the fork was killed."""
    sending = threading.Lock()

    def send(kind: str, value: object) -> None:
        # Its end is noticed below.
        with sending, suppress(OSError):
            connection.send((kind, value))

    outbox.on_stop = lambda reason: send("stop", reason)
    if outbox.asked is not None:
        outbox.on_stop(outbox.asked)
    try:
        while True:
            kind, value = connection.recv()
            if kind == "result":
                return value
            if kind == "message":
                outbox.put(value)
            elif kind == "beat":
                outbox.beat()
            else:
                outbox.flush()
                send("flushed", None)
    except (EOFError, OSError):
        os._exit(1)
