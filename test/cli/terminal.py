"""Runs a program on a pseudo-terminal as a person would: waits for texts, and types.

usage: terminal.py PROGRAM ARGUMENT… < STEPS. STEPS is JSON: [[what to wait for, what to type], …], where the wait is a
text that comes after those before. Prints JSON: {"code": the exit code, "screen": all that the program wrote}.
"""

import json
import os
import pty
import select
import signal
import sys

WAIT_SECONDS = 30


def main() -> None:
    steps = json.load(sys.stdin)
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    screen = b""
    seen = 0
    for wanted, typed in [*steps, [None, ""]]:
        while wanted is None or (found := screen.find(wanted.encode(), seen)) < 0:
            ready, _, _ = select.select([terminal], [], [], WAIT_SECONDS)
            try:
                piece = os.read(terminal, 65536) if ready else b""
            except OSError:  # The program has ended.
                piece = b""
            if piece == b"":
                break
            screen += piece
        else:
            seen = found + len(wanted.encode())
            os.write(terminal, typed.encode())
            continue
        break
    else:
        wanted = None
    if wanted is not None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print(json.dumps({"code": os.waitstatus_to_exitcode(status), "screen": screen.decode(errors="replace")}))


main()
