"""A fork of this process, followed like a child process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from trainer.protocol.die_with import die_with

POLL_SECONDS = 0.02


class Fork:
    """Does `work` in a fork of this process and ends with the exit status that it returns. What it prints is
    read from `stdout`; the other members are those of `subprocess.Popen`."""

    def __init__(self, work: Callable[[], int]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self.returncode: int | None = None
        read, write = os.pipe()
        parent = os.getpid()
        # The fork begins with the handler of its parent, which in a run only notes the signal. One that comes
        # early waits until the fork has the default.
        earlier = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._become(work, parent, read, write, earlier)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
        os.close(write)
        self.stdout = os.fdopen(read, "rb")

    @staticmethod
    def _become(
        work: Callable[[], int], parent: int, read: int, write: int, mask: set[int | signal.Signals]
    ) -> None:
        code = 1
        try:
            os.close(read)
            os.dup2(write, 1)
            os.close(write)
            sys.stdout = os.fdopen(1, "w", encoding="utf-8")
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            die_with(parent, signal.SIGTERM)
            code = work()
            sys.stdout.flush()
            sys.stderr.flush()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        finally:
            os._exit(code)

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        if self.returncode is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once it has ended; subprocess.TimeoutExpired after `timeout` seconds."""
        begun = time.monotonic()
        while (status := self.poll()) is None:
            if timeout is not None and time.monotonic() - begun > timeout:
                raise subprocess.TimeoutExpired("fork", timeout)
            time.sleep(POLL_SECONDS)
        return status

    def terminate(self) -> None:
        """Asks it to end."""
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Ends it."""
        os.kill(self.pid, signal.SIGKILL)
