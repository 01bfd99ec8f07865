"""Hone's own kernels for a CPU (`native/kernels/`): each is one pass where torch needs several.

They are built with the native addon. Without them, as on Windows or without a compiler, torch computes the
same.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trainer.kernels.allowed import PLAIN, is_plain

if TYPE_CHECKING:
    from _ctypes import _CDataType

    from torch import Tensor

    class _Function(Protocol):
        def __call__(self, operands: object) -> int: ...


ROOT = Path(__file__).parents[2]
# `HONE_NATIVE_BUILD` names another build folder, as for the addon.
FILE = ROOT / os.environ.get("HONE_NATIVE_BUILD", "build/native") / "Release" / "training-kernels.so"

# Numbers of a head must be a multiple of it, which all vectors divide.
HEAD = 16

# The instruction set that a test chose (`using`); None for the best that the processor has.
_chosen: str | None = None


def fields(kind: type[_CDataType], *names: str) -> list[tuple[str, type[_CDataType]]]:
    """Fields of one type, for a structure of operands."""
    return [(name, kind) for name in names]


class Kernel:
    """A function of native/kernels/, compiled for each instruction set. It takes `operands`, a structure with
    the fields of the one in its C++ file."""

    def __init__(self, name: str, operands: type[ctypes.Structure]) -> None:
        self.name, self.operands = name, operands

    def is_there(self) -> bool:
        """Whether it is built, and for these operands."""
        return self._function() is not None

    def computes(self, *tensors: Tensor) -> bool:
        """Whether it is there and can compute with `tensors`: on a CPU, and all of one type that it knows."""
        types = {type_of(tensor) for tensor in tensors}
        on_cpu = all(tensor.device.type == "cpu" for tensor in tensors)
        return on_cpu and len(types) == 1 and None not in types and self.is_there()

    def __call__(self, *operands: object) -> None:
        """Computes with the fields of its structure. MemoryError; AttributeError where it is not there."""
        self.prepared(*operands)()

    def prepared(self, *operands: object) -> Callable[..., None]:
        """The same for many calls, which name the fields that differ."""
        function = self._function()
        if function is None:
            raise AttributeError(f"there is no kernel {self.name}")
        given = self.operands(*operands)
        pointer = ctypes.byref(given)

        def call(**changed: object) -> None:
            for name, value in changed.items():
                setattr(given, name, value)
            if function(pointer) != 0:
                raise MemoryError(f"out of memory in the kernel {self.name}")

        return call

    def _function(self) -> _Function | None:
        found = library()
        return None if found is None else _function_of(found, self.name, self.operands, instruction_set())


@cache
def _function_of(
    found: ctypes.CDLL, name: str, operands: type[ctypes.Structure], instructions: str
) -> _Function | None:
    try:
        # An item is a function of its own; an attribute would share its types with other kernels of the name.
        size = found[f"hone_size_of_{name}_{instructions}"]
        size.restype = ctypes.c_uint64
        function = found[f"hone_{name}_{instructions}"]
    except AttributeError:
        return None
    function.restype, function.argtypes = ctypes.c_int, [ctypes.POINTER(operands)]
    return function if size() == ctypes.sizeof(operands) else None


def library() -> ctypes.CDLL | None:
    """The kernels, or None where they are off, not built or not loadable."""
    return None if is_plain() else _loaded()


@lru_cache(maxsize=1)
def _loaded() -> ctypes.CDLL | None:
    # torch brings the OpenMP library that both then share.
    import torch  # noqa: F401

    try:
        found = ctypes.CDLL(str(FILE))
        found.hone_instruction_set.restype = ctypes.c_char_p
        found.hone_instruction_set.argtypes = [ctypes.c_size_t]
    except (OSError, AttributeError):
        return None
    return found


@cache
def instruction_sets() -> list[str]:
    """Those that the processor has and the kernels are built for, the best first."""
    found = _loaded()
    if found is None:
        return []
    names: list[str] = []
    while (name := found.hone_instruction_set(len(names))) is not None:
        names.append(name.decode())
    return names


def instruction_set() -> str:
    """The one in use."""
    return _chosen or instruction_sets()[0]


@contextmanager
def using(instructions: str) -> Iterator[None]:
    """Within it, the kernels are those of another of `instruction_sets`."""
    global _chosen
    _chosen = instructions
    try:
        yield
    finally:
        _chosen = None


def describe() -> str:
    """Whether there are kernels, in words."""
    if is_plain():
        return f"without Hone's kernels, as {PLAIN} is set"
    if library() is None:
        return "without Hone's kernels, which are built with the native addon"
    return f"with Hone's kernels for {instruction_set()}"


def require(fits: bool, what: str) -> None:
    """RuntimeError, as of torch, where sizes do not fit: the kernels themselves trust them."""
    if not fits:
        raise RuntimeError(f"the sizes or types of {what} do not fit together")


def lie_alike(*tensors: Tensor) -> bool:
    """Whether `tensors` have the same shape and type, and no gaps."""
    first = tensors[0]
    same = all(part.shape == first.shape and part.dtype == first.dtype for part in tensors)
    return same and all(part.is_contiguous() for part in tensors)


def type_of(tensor: Tensor) -> int | None:
    """`HoneType` of a tensor."""
    return {"torch.float32": 0, "torch.bfloat16": 1}.get(str(tensor.dtype))


def threads() -> int:
    """How many threads a kernel uses."""
    import torch

    return torch.get_num_threads()
