"""Runs a grader in Python in a child process that has no network, secrets, other files or processes."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from trainer.grading.cage.child import REPLY, TEXT_BYTES
from trainer.grading.score import GraderError

CHILD = Path(__file__).with_name("child.py")
# OpenAI's bound.
SOURCE_BYTES = 256 * 1024
# By this variable the user of this machine allows graders that nothing encloses.
ALLOW_UNCAGED = "HONE_ALLOW_UNCAGED_GRADERS"

# Sets of strings have one order in every child, and libraries start no threads.
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")},
}
# Windows starts no program without it.
WINDOWS = ("SYSTEMROOT",)


class CageUnavailable(GraderError):
    """This system cannot enclose a grader."""

    kind = "python_grader_server_error"


@dataclass(frozen=True)
class Limits:
    """What a grader may take."""

    seconds: float = 10
    # To start: its imports and what stands outside of its function.
    start_seconds: float = 60
    memory_bytes: int = 2 << 30
    open_files: int = 64
    output_bytes: int = 1 << 20


class Cage:
    """A grader in Python: the source of a `grade(sample, item)` that returns a number, in OpenAI's contract.

    One child answers all calls. After a call that it did not survive, the next one starts another. Calls from
    several threads take turns.

    Raises:
        GraderError: the source cannot be compiled, fails, or defines no `grade`.
        CageUnavailable: this system cannot enclose it.
    """

    def __init__(self, source: str, limits: Limits | None = None) -> None:
        self._source = source
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._child: _Child | None = None
        if len(source.encode(errors="surrogatepass")) > SOURCE_BYTES:
            raise GraderError(f"The source is longer than {SOURCE_BYTES >> 10} KiB.")
        self._child = self._start()

    def grade(self, sample: dict[str, Any], item: dict[str, Any]) -> float:
        """The grader's score, a finite number.

        Raises:
            GraderError: it failed, exceeded a limit or returned something else.
        """
        with self._lock:
            if self._child is None or self._child.ended():
                self._child = self._start()
            try:
                return self._child.ask({"sample": sample, "item": item}, self._limits.seconds)
            except _Ended:
                self._child = None
                raise

    def close(self) -> None:
        """Ends the child. A later call starts another."""
        with self._lock:
            if self._child is not None:
                self._child.end()
                self._child = None

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Cage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> _Child:
        child = _Child(self._limits, uncaged=os.environ.get(ALLOW_UNCAGED) == "1")
        try:
            child.ask({"source": self._source}, self._limits.start_seconds)
        except GraderError:
            child.end()
            raise
        return child


def why_unavailable() -> str | None:
    """Why this system cannot enclose graders; None if it can, as a child shows that enclosed itself."""
    try:
        _Child(Limits(), uncaged=False).end()
    except CageUnavailable as error:
        return str(error)
    return None


class _Ended(GraderError):
    """The child did not survive the call."""


class _Child:
    """A child that has enclosed itself and waits for frames."""

    def __init__(self, limits: Limits, uncaged: bool) -> None:
        self._limits = limits
        self._number = 0
        self._printed = 0
        # Why it was killed here.
        self._reason: str | None = None
        started: Future[subprocess.Popen[bytes]] = Future()
        threading.Thread(target=self._keep, args=(started,), daemon=True).start()
        self._process = started.result()
        bounds = {"memory_bytes": limits.memory_bytes, "open_files": limits.open_files, "uncaged": uncaged}
        try:
            self.ask(bounds, limits.start_seconds)
        except GraderError as error:
            self.end()
            raise CageUnavailable(
                f"{error}. {ALLOW_UNCAGED}=1 in the service's environment runs graders without a cage."
            ) from None

    def ask(self, frame: dict[str, Any], seconds: float) -> float:
        """The score that it answers to a frame. It runs only from here until its answer."""
        encoded = json.dumps(frame).encode()
        self._printed = 0
        timer = threading.Timer(seconds, self._kill, [f"The grader took longer than {seconds:g} s."])
        timer.start()
        try:
            self._signal("SIGCONT")
            self._write(len(encoded).to_bytes(4, "little") + encoded)
            number, failed, score, length = REPLY.unpack(self._read(REPLY.size))
            if number != self._number or length > TEXT_BYTES or not math.isfinite(score):
                self._kill("The grader wrote into the pipe for its answers.")
                raise EOFError
            text = self._read(length).decode(errors="replace")
            self._signal("SIGSTOP")
        except (OSError, EOFError):
            timer.cancel()
            raise _Ended(self._why_ended()) from None
        finally:
            timer.cancel()
        self._number += 1
        if failed:
            raise GraderError(text)
        return score

    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def end(self) -> None:
        """Ends it."""
        self._kill("The grader was closed.")
        self._process.wait()

    def _keep(self, started: Future[subprocess.Popen[bytes]]) -> None:
        """Starts it, reads what it prints, and waits for its end: the kernel ends it with the thread that
        started it."""
        environment = {**ENVIRONMENT, **{name: os.environ[name] for name in WINDOWS if name in os.environ}}
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                [sys.executable, "-s", "-B", str(CHILD)],
                stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, cwd=os.path.abspath(os.sep), env=environment,
            )  # fmt: skip
        except OSError as error:
            started.set_exception(GraderError(f"No process can be started for the grader: {error}"))
            return
        started.set_result(process)
        assert process.stderr is not None
        while piece := process.stderr.read(1 << 16):
            self._printed += len(piece)
            if self._printed > self._limits.output_bytes:
                self._kill(f"The grader printed more than {self._limits.output_bytes >> 10} KiB.")
        process.wait()

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        rest = memoryview(data)
        while rest:
            rest = rest[self._process.stdin.write(rest) :]

    def _read(self, count: int) -> bytes:
        assert self._process.stdout is not None
        data = b""
        while len(data) < count:
            piece = self._process.stdout.read(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def _signal(self, name: str) -> None:
        """Sends a signal, on systems that have it."""
        if hasattr(signal, name):
            self._process.send_signal(getattr(signal, name))

    def _kill(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._process.kill()

    def _why_ended(self) -> str:
        """Why the pipe for answers has ended. What has begun to exit keeps its status when it is killed."""
        self._kill("The grader closed the pipe for its answers, or the system killed it.")
        code = self._process.wait()
        if code >= 0:
            return f"The grader's process exited with status {code}."
        name = signal.Signals(-code).name
        return self._reason or "" if name == "SIGKILL" else f"The grader's process was ended by {name}."
