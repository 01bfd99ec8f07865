"""Root mean square norms that keep only their input, and are a few passes over it, for a CPU."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import Structure, c_float, c_int32, c_int64, c_void_p
from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Protocol

from trainer.kernels import native
from trainer.kernels.native import fields

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel

    from trainer.kernels.context import Context

    class _Context(Context, Protocol):
        added: float
        by_kernel: bool


# Rows and relative difference of the test whether a norm is computed alike.
TRIED_ROWS = 4
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2, "float16": 2e-3}


class _Operands(Structure):
    """`NormOperands` of native/kernels/norm.cpp."""

    _fields_ = [
        *fields(c_void_p, "x", "weight", "factors", "answer", "grad_output"),
        *fields(c_int64, "rows", "size"),
        *fields(c_float, "added", "epsilon"),
        *fields(c_int32, "type", "threads"),
    ]


NORM = native.Kernel("norm", _Operands)


def fuse_norms(model: PreTrainedModel) -> None:
    """Replaces the forward pass of every root mean square norm of `model` whose weight is frozen, if ours
    gives the same."""
    for module in model.modules():
        if not type(module).__name__.endswith("RMSNorm") or "forward" in vars(module):
            continue
        weight = getattr(module, "weight", None)
        epsilon = getattr(module, "variance_epsilon", getattr(module, "eps", None))
        if weight is None or weight.ndim != 1 or weight.requires_grad or not isinstance(epsilon, float):
            continue
        if weight.device.type != "cpu" or list(module.parameters()) != [weight]:
            continue
        for added in (0.0, 1.0):
            module.forward = MethodType(_forward(added, epsilon), module)
            if _alike(module):
                break
            del module.forward


def _alike(module: Module) -> bool:
    """Whether the norm gives what its class gives."""
    import torch

    weight: Tensor = module.get_parameter("weight")
    # Independent of the random numbers of the training; small enough that the epsilon counts.
    made = torch.Generator().manual_seed(0)
    rows = torch.randn(TRIED_ROWS, len(weight), generator=made)
    rows *= torch.tensor([[1.0], [3.0], [0.1], [1e-3]])
    rows = rows.to(weight.dtype)
    bound = TOLERANCE.get(str(weight.dtype).removeprefix("torch."), 0.0)
    try:
        with torch.no_grad():
            expected, found = type(module).forward(module, rows), module.forward(rows)
        # As close as rounding explains: of an element, or of what is added in its row.
        same = expected.dtype == found.dtype and expected.shape == found.shape
        return same and torch.allclose(found.float(), expected.float(), rtol=bound, atol=bound * 1e-2)
    except (TypeError, RuntimeError, AttributeError):
        return False


def _forward(added: float, epsilon: float) -> Callable[..., Tensor]:
    """The forward pass of a norm whose weight counts with `added`."""
    import torch

    def forward(self: Module, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        """The norm of `x`; as its class computes it with anything else."""
        if args or kwargs or self.weight.requires_grad or x.device.type != "cpu":
            return type(self).forward(self, x, *args, **kwargs)
        weight = self.get_parameter("weight")
        if not torch.is_grad_enabled() and x.is_contiguous() and NORM.computes(x, weight):
            return norm(x, weight, added, epsilon)[0]
        return norm_class().apply(x, weight, added, epsilon)

    return forward


@lru_cache(maxsize=1)
def norm_class() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class Norm(torch.autograd.Function):
        """`apply(x, weight, added, epsilon)`: x / sqrt(mean(x²) + epsilon) * (weight + added) over the last
        dimension, with the gradient of x. Computes in float32."""

        @staticmethod
        def forward(context: _Context, x: Tensor, weight: Tensor, added: float, epsilon: float) -> Tensor:
            context.added = added
            context.by_kernel = x.is_contiguous() and NORM.computes(x, weight)
            if context.by_kernel:
                answer, factor = norm(x, weight, added, epsilon)
                context.save_for_backward(x, weight, factor)
                return answer
            wide = x.float()
            factor = torch.linalg.vector_norm(wide, dim=-1, keepdim=True).square_()
            factor.div_(x.shape[-1]).add_(epsilon).rsqrt_()
            wide = wide * factor if wide is x else wide.mul_(factor)
            # Where the weight is not added to, the library rounds before it multiplies.
            if added == 0.0:
                answer = wide.to(x.dtype) * weight
            else:
                answer = wide.mul_(weight.float() + added).to(x.dtype)
            context.save_for_backward(x, weight, factor)
            return answer

        @staticmethod
        def backward(context: _Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
            x, weight, factor = context.saved_tensors
            if context.by_kernel:
                return norm_gradient(x, weight, context.added, factor, grad_output), None, None, None
            grad_output = grad_output.float() * (weight.float() + context.added)
            wide = x.float()
            projection = (grad_output * wide).mean(-1, keepdim=True).mul_(factor).mul_(factor)
            of_x = grad_output.addcmul_(wide, projection, value=-1.0).mul_(factor)
            return of_x.to(x.dtype), None, None, None

    return Norm


def norm(x: Tensor, weight: Tensor, added: float, epsilon: float) -> tuple[Tensor, Tensor]:
    """The root mean square norm of the rows of `x` (…, size), without gaps, with weights of `weight` +
    `added`; and what each row is multiplied with (…, 1), float32."""
    import torch

    factors = torch.empty(*x.shape[:-1], 1)
    return _norm(x, weight, added, epsilon, factors, None), factors


def norm_gradient(x: Tensor, weight: Tensor, added: float, factors: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient of `x` from that of `norm`, `grad_output`."""
    return _norm(x, weight, added, 0.0, factors, grad_output.contiguous())


def _norm(
    x: Tensor, weight: Tensor, added: float, epsilon: float, factors: Tensor, grad_output: Tensor | None
) -> Tensor:
    import torch

    fits = weight.shape == x.shape[-1:] and weight.dtype == x.dtype and weight.is_contiguous()
    native.require(fits and native.lie_alike(x, x if grad_output is None else grad_output), "a norm")
    answer = torch.empty_like(x)
    pointers = [part.data_ptr() for part in (x, weight, factors, answer)]
    last = None if grad_output is None else grad_output.data_ptr()
    sizes = x.numel() // x.shape[-1], x.shape[-1]
    NORM(*pointers, last, *sizes, added, epsilon, native.type_of(x), native.threads())
    return answer
