"""Runs the Node programs that use llama.cpp: one quantizes a GGUF, one scores it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

from trainer.protocol.failures import Failure

# Longest time between two checks for a stop request.
LOOK_SECONDS = 0.5
# What a library says that aborts: a failed assertion, or an exception that nothing caught.
ABORTED = re.compile(r"GGML_ASSERT\(.*|GGML_ABORT.*|what\(\):.*")
# What the scoring program says before the number of sequences and continuations that are done.
DONE = "done "
# Time for a program to exit after SIGTERM.
GRACE_SECONDS = 5


def _run(
    argv: list[str], given: bytes, on_line: Callable[[str], None], beat_or_stop: Callable[[], None]
) -> tuple[int, str]:
    """Feeds `given` and passes on each line of stdout; calls `beat_or_stop`, which may raise, twice a second.

    Returns exit status and stderr. The program has ended when this returns or raises.
    """
    with tempfile.TemporaryFile() as complaints:
        process = _start(argv, complaints)
        return _feed(process, given, complaints, on_line, beat_or_stop)


def _start(argv: list[str], complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts a program that reads its standard input; Failure `dependency_missing` when it cannot be."""
    try:
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)
    except OSError as error:
        raise Failure(
            "dependency_missing",
            f"The program {argv[0]} cannot be started: {error.strerror}.",
            "Run `npm start` again, which builds what is missing.",
        ) from error


def _feed(
    process: subprocess.Popen[bytes],
    given: bytes,
    complaints: IO[bytes],
    on_line: Callable[[str], None],
    beat_or_stop: Callable[[], None],
) -> tuple[int, str]:
    """As `_run`, with a program that was started."""

    def write() -> None:
        assert process.stdin is not None
        # One that has ended already says why.
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(given)

    # In a thread: a program that does not read must not keep this one from stopping it.
    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        status = follow(process, on_line, beat_or_stop)
    finally:
        # The program has ended, and so has writing to it; a process with threads cannot be forked.
        writer.join()
    complaints.seek(0)
    return status, complaints.read().decode("utf-8", "replace")


class Process(Protocol):
    """What is used of a subprocess.Popen, whose output is bytes."""

    @property
    def stdout(self) -> IO[bytes] | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


def follow(process: Process, on_line: Callable[[str], None], beat_or_stop: Callable[[], None]) -> int:
    """Passes on each line of the output of `process` (as of subprocess.Popen) and returns its exit status;
    calls `beat_or_stop`, which may raise, twice a second. It has ended when this returns or raises."""
    output = process.stdout
    assert output is not None
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            buffer = b""
            while True:
                beat_or_stop()
                if not selector.select(LOOK_SECONDS):
                    continue
                chunk = os.read(output.fileno(), 1 << 16)
                if not chunk:
                    break
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    on_line(line.decode("utf-8", "replace"))
            if buffer:
                on_line(buffer.decode("utf-8", "replace"))
        return process.wait()
    finally:
        end(process)
        output.close()


def end(process: Process) -> None:
    """Ends `process` unless it has ended."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _explain(what: str, status: int, complaints: str) -> Failure:
    code, message = "", ""
    for line in complaints.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "message" in value:
            code, message = str(value.get("code", "")), str(value["message"])
    if not message and (aborted := ABORTED.search(complaints)):
        message = aborted[0].removeprefix("what():").strip()
    ended = f"signal {-status}" if status < 0 else f"exit status {status}"
    evidence = "\n".join(complaints.splitlines()[-8:])[-2000:]
    if code == "disk_full":
        return Failure("disk_full", message, "Free some disk space, then export the model again.", evidence)
    if code in ("addon_missing", "engine_missing", "engine_mismatch"):
        return Failure("dependency_missing", message, "Run `npm start` again.", evidence)
    if code == "unsupported_type":
        return Failure("unsupported", message, "Choose another quantization.", evidence)
    return Failure(
        "internal",
        f"{what} ended with {ended}" + (f": {message}" if message else "."),
        "See the end of the job's log; export again, or choose another quantization.",
        evidence,
    )


def quantize(
    argv: list[str],
    source: Path,
    destination: Path,
    quantization: str,
    on_progress: Callable[[float], None],
    beat_or_stop: Callable[[], None],
    importance: Path | None = None,
) -> None:
    """Writes `destination` from the GGUF `source`, by the matrix `importance` if that is given; Failure with
    the program's message."""

    def report(line: str) -> None:
        try:
            value = json.loads(line).get("progress")
        except (ValueError, AttributeError):
            return
        if isinstance(value, (int, float)):
            on_progress(min(1.0, max(0.0, float(value))))

    paths = [] if importance is None else [str(importance)]
    command = [*argv, str(source), str(destination), quantization, *paths]
    status, complaints = _run(command, b"", report, beat_or_stop)
    if status != 0:
        destination.unlink(missing_ok=True)
        raise _explain(f"Quantizing to {quantization}", status, complaints)


class Scorer:
    """The scoring program, for one request. It loads llama.cpp as soon as it is started, so that one which is
    started before there is a file answers sooner. Use it in a `with`, which ends it."""

    def __init__(self, argv: list[str]) -> None:
        """Failure `dependency_missing` when it cannot be started."""
        with contextlib.ExitStack() as opened:
            self._complaints = opened.enter_context(tempfile.TemporaryFile())
            self._process = _start(argv, self._complaints)
            self._opened = opened.pop_all()

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        end(self._process)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            # An ended program reads no more of what is left for it.
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self._opened.close()

    def answer(
        self,
        request: Mapping[str, object],
        beat_or_stop: Callable[[], None],
        on_done: Callable[[int], None] = lambda count: None,
    ) -> dict[str, Any]:
        """The program's answer to `request`; src/inference/score.ts describes both. `on_done` gets how many
        sequences and continuations are done, if the request has `tells`. Raises Failure and what
        `beat_or_stop` does."""
        lines: list[str] = []
        given = json.dumps(request).encode()

        def hear(line: str) -> None:
            if line.startswith(DONE):
                on_done(int(line.removeprefix(DONE)))
            else:
                lines.append(line)

        status, complaints = _feed(self._process, given, self._complaints, hear, beat_or_stop)
        if status != 0:
            raise _explain("Loading the finished GGUF", status, complaints)
        for line in reversed(lines):
            if line.startswith("{"):
                return json.loads(line)
        raise Failure("internal", "The scoring program gave no answer.", "Export again.", complaints[-2000:])


def score(
    argv: list[str],
    request: Mapping[str, object],
    beat_or_stop: Callable[[], None],
    on_done: Callable[[int], None] = lambda count: None,
) -> dict[str, Any]:
    """As `Scorer.answer`, of a program that is started now."""
    with Scorer(argv) as scorer:
        return scorer.answer(request, beat_or_stop, on_done)
