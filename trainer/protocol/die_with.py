"""Ties the end of a process to that of the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

# Linux: prctl's option by which a process gets a signal when its parent dies.
PR_SET_PDEATHSIG = 1


def die_with(parent: int, by: int = signal.SIGKILL) -> None:
    """Ends this process, with the signal `by`, when the process `parent` ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, by)
    else:

        def watch() -> None:
            while os.getppid() == parent:
                time.sleep(1)
            os.kill(os.getpid(), by)

        threading.Thread(target=watch, daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)
