"""Queries and keys, rotated by their positions in one pass, for a CPU."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import Structure, c_int32, c_int64, c_void_p
from functools import lru_cache
from types import FunctionType, MethodType
from typing import TYPE_CHECKING

from trainer.kernels import native
from trainer.kernels.native import fields
from trainer.libraries.transformers import rotating_layers, with_rotation

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.kernels.context import Context


class _Operands(Structure):
    """`RotationOperands` of native/kernels/rotation.cpp."""

    _fields_ = [
        *fields(c_void_p, "x"),
        *fields(c_int64, "step", "head_step"),
        *fields(c_void_p, "cosines", "sines", "answer"),
        *fields(c_int64, "tokens"),
        *fields(c_int32, "heads", "size", "backward"),
        *fields(c_int32, "type", "threads"),
    ]


ROTATION = native.Kernel("rotation", _Operands)


def fuse_rotations(model: PreTrainedModel) -> None:
    """Lets the attention layers of `model` whose classes call the usual rotation call ours, if it gives the
    same: some models rotate other positions of a head."""
    if not ROTATION.is_there():
        return
    for module, forward, usual in rotating_layers(model):
        if _is_usual(usual):
            module.forward = MethodType(_calling(forward, usual), module)


@lru_cache(maxsize=8)
def _calling(forward: FunctionType, usual: Callable[..., tuple[Tensor, Tensor]]) -> FunctionType:
    """`forward`, which calls our rotation instead of the `usual` one."""

    def rotated(
        q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        if args or kwargs or not all(rotates(part, cos, sin) for part in (q, k)):
            return usual(q, k, cos, sin, *args, **kwargs)
        return rotation_class().apply(q, cos, sin), rotation_class().apply(k, cos, sin)

    return with_rotation(forward, rotated)


@lru_cache(maxsize=8)
def _is_usual(usual: Callable[..., tuple[Tensor, Tensor]]) -> bool:
    """Whether `usual` rotates as ours does."""
    import torch

    made = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, heads, 3, 32, generator=made) for heads in (2, 1))
    cos, sin = (torch.randn(1, 3, 32, generator=made) for _ in range(2))
    try:
        expected = usual(q, k, cos, sin)
        found = [rotation(part, cos, sin, False) for part in (q, k)]
        return all(torch.allclose(*pair, rtol=1e-5, atol=1e-6) for pair in zip(found, expected, strict=True))
    except (TypeError, RuntimeError, ValueError, AttributeError):
        return False


@lru_cache(maxsize=1)
def rotation_class() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class Rotation(torch.autograd.Function):
        """`apply(x, cosines, sines)`: as `rotation`, with the gradient of x."""

        @staticmethod
        def forward(context: Context, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
            context.save_for_backward(cosines, sines)
            return rotation(x, cosines, sines, False)

        @staticmethod
        def backward(context: Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
            if grad_output.stride(3) != 1:
                grad_output = grad_output.contiguous()
            cosines, sines = context.saved_tensors
            return rotation(grad_output, cosines, sines, True), None, None

    return Rotation


def rotates(x: Tensor, cosines: Tensor, sines: Tensor) -> bool:
    """Whether `rotation` can compute with `x` (1, heads, tokens, size), and `cosines` and `sines`."""
    size = x.shape[3]
    tables = cosines.shape == sines.shape == (1, x.shape[2], size)
    plain = x.shape[0] == 1 and x.stride(3) == 1 and cosines.is_contiguous() and sines.is_contiguous()
    return tables and plain and size % (2 * native.HEAD) == 0 and ROTATION.computes(x, cosines, sines)


def rotation(x: Tensor, cosines: Tensor, sines: Tensor, backward: bool) -> Tensor:
    """The halves of the heads of `x` (1, heads, tokens, size), rotated by their positions, whose `cosines`
    and `sines` (1, tokens, size) are known; `backward` in the other direction, as for gradients."""
    native.require(rotates(x, cosines, sines), "a rotation")
    answer = x.new_empty(1, x.shape[2], x.shape[1], x.shape[3])
    steps = x.stride(2), x.stride(1)
    pointers = [part.data_ptr() for part in (cosines, sines, answer)]
    sizes = x.shape[2], x.shape[1], x.shape[3]
    ROTATION(x.data_ptr(), *steps, *pointers, *sizes, backward, native.type_of(x), native.threads())
    return answer.transpose(1, 2)
