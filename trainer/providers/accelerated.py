"""The accelerated provider: Unsloth's kernels, on NVIDIA GPUs under Linux."""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec


class Accelerated:
    """About twice as fast and a fifth less memory, where it can run."""

    name = "accelerated"
    order = 2

    def availability(self) -> tuple[bool, str | None]:
        """Whether it can run here, and why not; asks the driver's library, not torch."""
        if not sys.platform.startswith("linux"):
            return False, "The accelerated provider runs on Linux, WSL 2 and Docker only; use standard here."
        try:
            driver = ctypes.CDLL("libcuda.so.1")
        except OSError:
            return (
                False,
                "The accelerated provider needs an NVIDIA GPU with its driver, and there is none here.",
            )
        count = ctypes.c_int(0)
        if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
            return False, "The NVIDIA driver is there, but it shows no usable GPU."
        if find_spec("unsloth") is None:
            return False, "The package unsloth is not installed in trainer/.venv; `npm start` adds it."
        return True, None
