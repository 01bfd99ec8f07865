"""The child of a cage: a script that encloses itself and runs a grader's source.

On standard input, frames of a length (u32) and JSON: `{"memory_bytes", "open_files", "uncaged"}`, then
`{"source"}`, then `{"sample", "item"}` for each call. On standard output a `REPLY` and its text for each.
What the grader prints goes to the standard error. The grader can change this script, but not the wall.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

# Number of the frame, whether it failed, score, length of the text that follows.
REPLY = struct.Struct("<I?dI")
TEXT_BYTES = 2000

Grade = Callable[[dict[str, Any], dict[str, Any]], object]


def main() -> None:
    """Answers frames until the standard input ends."""
    requests = os.fdopen(0, "rb", closefd=False)
    replies = os.dup(1)
    os.dup2(2, 1)
    namespace: dict[str, Any] = {"__name__": "grader"}
    for number in range(1 << 32):
        frame = _next(requests)
        if frame is None:
            return
        score, text, failed = 0.0, "", False
        try:
            if number == 0:
                _enclose(**frame)
            elif number == 1:
                _run(frame["source"], namespace)
            else:
                score = _score(namespace["grade"](frame["sample"], frame["item"]))
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException as error:  # A grader may raise anything, also SystemExit.
            score, text, failed = 0.0, _told(error), True
        encoded = text.encode(errors="replace")[:TEXT_BYTES]
        os.write(replies, REPLY.pack(number, failed, score, len(encoded)) + encoded)


def _next(requests: BinaryIO) -> dict[str, Any] | None:
    head = requests.read(4)
    if len(head) < 4:
        return None
    frame: dict[str, Any] = json.loads(requests.read(int.from_bytes(head, "little")))
    return frame


def _enclose(memory_bytes: int, open_files: int, uncaged: bool) -> None:
    """Encloses this process. Where that cannot be done it fails, or goes on if `uncaged`."""
    # Without the folder of this script.
    modules = sys.path[1:]
    libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", f"{sys.base_prefix}/lib", "/etc/ld.so.cache"]
    time_zones = ["/usr/share/zoneinfo", "/etc/localtime"]
    try:
        if sys.platform != "linux":
            raise NotImplementedError(f"graders in Python cannot be enclosed on {sys.platform}")
        from wall import enclose

        enclose([*modules, *libraries, *time_zones], memory_bytes, open_files)
    except NotImplementedError:
        if not uncaged:
            raise
    sys.path[:] = modules


def _run(source: str, namespace: dict[str, Any]) -> None:
    exec(compile(source, "<grader>", "exec"), namespace)
    if not callable(namespace.get("grade")):
        raise TypeError("it defines no function `grade(sample, item)`")


def _score(value: object) -> float:
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"`grade` returned {repr(value)[:200]}, which is not a number")
    score = float(value)
    if not math.isfinite(score):
        raise ValueError(f"`grade` returned {score}, which is not a finite number")
    return score


def _told(error: BaseException) -> str:
    """The error with its line in the source."""
    lines = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<grader>":
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == "<grader>":
        return f"line {error.lineno}: {type(error).__name__}: {error.msg}"
    where = f"line {lines[-1]}: " if lines else ""
    refused = (
        " (a grader has no network, other files or processes)" if isinstance(error, PermissionError) else ""
    )
    return f"{where}{type(error).__name__}: {error}{refused}"


if __name__ == "__main__":
    main()
