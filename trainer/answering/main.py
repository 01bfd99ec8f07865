"""`python -m trainer answer`: holds one model and answers requests, one at a time in order of arrival.

The protocol is that of src/inference/protocol/messages.ts, as JSON lines: orders on standard input, and what
the service hears on standard output. It ends when its standard input ends.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, BinaryIO

from trainer.protocol.failures import explain

if TYPE_CHECKING:
    from trainer.answering.loaded import Loaded
    from trainer.answering.messages import GenerateOrder

NOTHING = {
    "text": "",
    "promptTokens": 0,
    "cachedTokens": 0,
    "generatedTokens": 0,
    "finishReason": "aborted",
    "timeToFirstTokenMs": 0,
    "durationMs": 0,
}


def answer() -> int:
    """Answers until standard input ends."""
    # Keeps what libraries print out of the protocol.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    os.environ["HF_HUB_OFFLINE"] = "1"
    return Answering(sys.stdin.buffer, out).serve()


class Answering:
    """One model's conversation with the service."""

    def __init__(self, source: BinaryIO, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self._lock = threading.Lock()
        self._orders: queue.Queue[Any] = queue.Queue()
        self._waiting: set[int] = set()
        self._running: int | None = None
        self._aborted = threading.Event()
        self._steps = 0
        self._is_training = False
        self._most_threads: int | None = None

    def serve(self) -> int:
        """Loads the model of the first order and answers the others, until the source ends."""
        threading.Thread(target=self._read, daemon=True).start()
        order = self._orders.get()
        if order is None:
            return 0
        try:
            from trainer.answering.loaded import Loaded

            self._set_threads()
            model = Loaded(order, self._step)
        except Exception as error:
            self._fail(None, error)
            # The service ends this process once it has read why.
            while self._orders.get() is not None:
                pass
            return 1
        self._say(type="loaded", memoryBytes=_memory_bytes())
        while (order := self._orders.get()) is not None:
            self._answer(model, order)
        return 0

    def _answer(self, model: Loaded, order: GenerateOrder) -> None:
        number = order["id"]
        with self._lock:
            if number not in self._waiting:
                return
            self._waiting.remove(number)
            self._running = number
            self._aborted.clear()
        self._say(type="begun", id=number, memoryBytes=_memory_bytes())
        try:
            self._set_threads()
            result = model.answer(
                order, self._aborted.is_set, lambda text: self._say(type="text", id=number, delta=text)
            )
            self._say(type="done", id=number, result=result, memoryBytes=_memory_bytes())
        except Exception as error:
            self._fail(number, error)
        finally:
            self._running = None

    def _read(self) -> None:
        """Takes the orders. It runs beside the model, so that a busy process still gives signs of life."""
        for line in self._source:
            message = json.loads(line)
            kind = message["type"]
            if kind == "ping":
                # Imports are the first seconds of a process, and progress, too.
                self._say(type="alive", steps=self._steps + len(sys.modules))
            elif kind == "training":
                self._is_training = message["active"]
            elif kind == "abort":
                self._abort(message["id"])
            else:
                if kind == "generate":
                    self._waiting.add(message["id"])
                else:
                    self._is_training = message["trainingActive"]
                self._orders.put(message)
        self._aborted.set()
        self._orders.put(None)

    def _abort(self, number: int) -> None:
        with self._lock:
            if self._running == number:
                self._aborted.set()
                return
            if number not in self._waiting:
                return
            self._waiting.remove(number)
        self._say(type="done", id=number, result=NOTHING)

    def _step(self) -> None:
        self._steps += 1

    def _set_threads(self) -> None:
        """One thread beside a training. It holds for the thread that calls it, from its next operation."""
        import torch

        if self._most_threads is None:
            self._most_threads = torch.get_num_threads()
        torch.set_num_threads(1 if self._is_training else self._most_threads)

    def _fail(self, number: int | None, error: Exception) -> None:
        failure, kind = explain(error), "invalid"
        if failure is not error:
            traceback.print_exception(error)
            kind = "internal" if failure.code == "internal" else "invalid"
        message = f"{failure.message} {failure.advice}".strip()
        details = {"code": failure.code, **getattr(failure, "details", {})}
        self._say(type="failed", id=number, kind=kind, message=message, details=details)

    def _say(self, **message: object) -> None:
        # In ASCII, because a line of Node's reader also ends at U+2028.
        line = (json.dumps(message) + "\n").encode()
        with self._lock:
            while line:
                line = line[self._out.write(line) :]


def _memory_bytes() -> int:
    """Resident memory of this process."""
    import psutil

    return psutil.Process().memory_info().rss
