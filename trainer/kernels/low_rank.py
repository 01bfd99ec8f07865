"""Products of rows with the frozen weights and the LoRA of one layer, or of several with the same input.

The low-rank part is added in place, and that of several layers is one product with all of their A. A weight
in 4 bits is dequantized for each product: only the 4 bits are kept for the backward pass.
"""

from __future__ import annotations

from ctypes import Structure, c_float, c_int32, c_int64, c_void_p
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from trainer.kernels import native
from trainer.kernels.native import fields
from trainer.libraries.torch import reshaped

if TYPE_CHECKING:
    import torch
    from bitsandbytes.functional import QuantState
    from torch import Size, Tensor

    from trainer.kernels.context import Context

    class _Context(Context, Protocol):
        constants: tuple[Constants, ...]
        shape: Size


class _Operands(Structure):
    """`LowRankOperands` of native/kernels/low-rank.cpp."""

    _fields_ = [
        *fields(c_void_p, "left"),
        *fields(c_int64, "left_step"),
        *fields(c_void_p, "right"),
        *fields(c_void_p, "answer"),
        *fields(c_int64, "answer_step"),
        *fields(c_int64, "rows", "rank", "columns"),
        *fields(c_float, "scaling"),
        *fields(c_int32, "transposed", "threads"),
    ]


DOWN = native.Kernel("low_rank_down", _Operands)
UP = native.Kernel("low_rank_up", _Operands)
GRADIENT = native.Kernel("low_rank_gradient", _Operands)


class Constants(NamedTuple):
    """What a layer has besides tensors: `scaling` of the product of A and B, and the state of the
    quantization of a weight in 4 bits, otherwise None."""

    scaling: float
    quantization: QuantState | None


class Layer(NamedTuple):
    """A linear layer and its LoRA: weight (out, in), which may be in 4 bits, bias, A (rank, in) and B (out,
    rank), in the type that it computes in."""

    weight: Tensor
    bias: Tensor | None
    down: Tensor
    up: Tensor
    constants: Constants

    def matrix(self) -> Tensor:
        """The weight as a matrix to multiply with."""
        return dequantized(self.weight, self.constants.quantization)


def dequantized(weight: Tensor, quantization: QuantState | None) -> Tensor:
    """`weight`, dequantized where it is in 4 bits."""
    if quantization is None:
        return weight
    from bitsandbytes.functional import dequantize_4bit

    return dequantize_4bit(weight, quantization)


def layers_of(tensors: tuple[Tensor, ...], constants: tuple[Constants, ...]) -> list[Layer]:
    """The layers whose `tensors` follow each other, four of each, with A and B in the type that the weight
    is multiplied in."""
    found = []
    for at, others in enumerate(constants):
        weight, bias, down, up = tensors[4 * at : 4 * at + 4]
        dtype = weight.dtype if others.quantization is None else others.quantization.dtype
        bias = None if bias is None else bias.to(dtype)
        found.append(Layer(weight, bias, down.to(dtype), up.to(dtype), others))
    return found


def kept_of(layers: list[Layer]) -> list[Tensor]:
    """What the backward pass of `layers` needs of them."""
    return [part for layer in layers for part in (layer.weight, layer.down, layer.up)]


def layers_kept(kept: list[Tensor], constants: tuple[Constants, ...]) -> list[Layer]:
    """The layers, without bias, that `kept_of` comes from."""
    weights, downs, ups = kept[0::3], kept[1::3], kept[2::3]
    every = zip(weights, downs, ups, constants, strict=True)
    return [Layer(weight, None, down, up, others) for weight, down, up, others in every]


def joined_down(layers: list[Layer]) -> Tensor:
    """The A of all `layers`, one below the other."""
    import torch

    return layers[0].down if len(layers) == 1 else torch.cat([layer.down for layer in layers])


def outputs_of(rows: Tensor, layers: list[Layer], down: Tensor) -> tuple[Tensor, list[Tensor]]:
    """`rows` A' with all A as `joined_down` has them, and what each layer makes of `rows`."""
    import torch

    by_kernel = _by_kernel(rows, layers)
    if by_kernel:
        low = rows.new_empty(len(rows), len(down))
        _down_by_kernel(rows, down, True, 1.0, low)
    else:
        low = rows @ down.t()
    found = []
    for layer, part in zip(layers, _parts(low, layers), strict=True):
        answer = torch.nn.functional.linear(rows, layer.matrix(), layer.bias)
        if by_kernel:
            _add_up_by_kernel(answer, part, layer.up, True, layer.constants.scaling)
        else:
            answer.addmm_(part, layer.up.t(), alpha=layer.constants.scaling)
        found.append(answer)
    return low, found


def _by_kernel(rows: Tensor, layers: list[Layer]) -> bool:
    """Whether Hone's kernels compute the low-rank part of `layers` for `rows`."""
    ranks = [layer.down.shape[0] for layer in layers]
    plain = all(layer.down.is_contiguous() and layer.up.is_contiguous() for layer in layers)
    return plain and multiplies(rows, ranks, *[layer.up.shape[0] for layer in layers])


def gradients_of(
    rows: Tensor, low: Tensor, layers: list[Layer], down: Tensor, grad_outputs: list[Tensor], wanted: bool
) -> tuple[Tensor | None, list[Tensor | None]]:
    """From those of the outputs, the gradient of `rows` if it is `wanted`, otherwise None, and, as `apply`
    takes the tensors of layers, theirs."""
    low_grad_output = low.new_empty(low.shape)
    by_kernel = _by_kernel(rows, layers) and all(grad_output.is_contiguous() for grad_output in grad_outputs)
    of_rows: Tensor | None = None
    found: list[Tensor | None] = []
    every = zip(layers, grad_outputs, _parts(low, layers), _parts(low_grad_output, layers), strict=True)
    for layer, grad_output, part, part_grad_output in every:
        scaling = layer.constants.scaling
        if by_kernel:
            _down_by_kernel(grad_output, layer.up, False, scaling, part_grad_output)
            of_up = _gradient_by_kernel(part, grad_output, True, scaling)
        else:
            part_grad_output.copy_(grad_output @ layer.up).mul_(scaling)
            of_up = (grad_output.t() @ part).float().mul_(scaling)
        if wanted:
            matrix = layer.matrix()
            of_rows = grad_output @ matrix if of_rows is None else of_rows.addmm_(grad_output, matrix)
        found += [None, None, None, of_up]
    if by_kernel:
        of_down = _gradient_by_kernel(low_grad_output, rows, False, 1.0)
    else:
        of_down = (low_grad_output.t() @ rows).float()
    if of_rows is not None and by_kernel:
        _add_up_by_kernel(of_rows, low_grad_output, down, False, 1.0)
    elif of_rows is not None:
        of_rows.addmm_(low_grad_output, down)
    found[2::4] = of_down.split([layer.down.shape[0] for layer in layers])
    return of_rows, found


def shaped(rows: Tensor, shape: Size) -> Tensor:
    """`rows` (rows, out) with the `shape` of the input but for its last dimension. No view, which models may
    not change in place when an autograd function returns it."""
    return reshaped(rows, (*shape[:-1], rows.shape[-1]))


def _parts(low: Tensor, layers: list[Layer]) -> tuple[Tensor, ...]:
    """The columns of `low` that belong to each layer."""
    return low.split([layer.down.shape[0] for layer in layers], dim=1)


@lru_cache(maxsize=1)
def low_rank_class() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class LowRank(torch.autograd.Function):
        """`apply(x, constants, *tensors)`: for each of the layers x W' + b + scaling x A' B', with gradients
        of x, A and B; x (…, in), of each layer `tensors` has W, b, A and B. Computes in W's type, as autocast
        would, or in the type that W was quantized from."""

        @staticmethod
        def forward(
            context: _Context, x: Tensor, constants: tuple[Constants, ...], *tensors: Tensor
        ) -> tuple[Tensor, ...]:
            layers = layers_of(tensors, constants)
            rows, down = x.reshape(-1, x.shape[-1]), joined_down(layers)
            low, answers = outputs_of(rows, layers, down)
            kept = kept_of(layers)
            context.save_for_backward(rows, low, down, *kept)
            context.constants, context.shape = constants, x.shape
            return tuple(shaped(answer, x.shape) for answer in answers)

        @staticmethod
        def backward(context: _Context, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
            rows, low, down, *kept = context.saved_tensors
            layers = layers_kept(kept, context.constants)
            flat = [grad_output.reshape(-1, grad_output.shape[-1]) for grad_output in grad_outputs]
            of_rows, others = gradients_of(rows, low, layers, down, flat, context.needs_input_grad[0])
            return None if of_rows is None else of_rows.view(context.shape), None, *others

    return LowRank


def multiplies(rows: Tensor, ranks: list[int], *sizes: int) -> bool:
    """Whether the kernels can compute with `rows` (tokens, size), matrices of these
    `ranks` and of `sizes`. Only in bfloat16, where the processor multiplies it and oneDNN would compile a
    program for each shape."""
    import torch

    if rows.dtype != torch.bfloat16 or not DOWN.computes(rows) or not rows.is_contiguous():
        return False
    fits = all(size % native.HEAD == 0 for size in (*ranks, *sizes, rows.shape[1]))
    return fits and native.instruction_set() == "avx512_bf16"


def _down_by_kernel(left: Tensor, right: Tensor, transposed: bool, scaling: float, answer: Tensor) -> None:
    """Sets `answer` (tokens, rank) to `scaling` * `left` (tokens, size) @ `right` (size, rank), or that
    `transposed`."""
    sizes = left.shape[0], answer.shape[1], left.shape[1]
    _require_product(answer, left, right, transposed)
    _low_rank(DOWN, left, right, answer, sizes, scaling, transposed)


def _add_up_by_kernel(answer: Tensor, left: Tensor, right: Tensor, transposed: bool, scaling: float) -> None:
    """Adds `scaling` * `left` (tokens, rank) @ `right` (rank, size), or that `transposed`, to `answer`
    (tokens, size)."""
    sizes = left.shape[0], left.shape[1], answer.shape[1]
    _require_product(answer, left, right, transposed)
    _low_rank(UP, left, right, answer, sizes, scaling, transposed)


def _gradient_by_kernel(left: Tensor, right: Tensor, transposed: bool, scaling: float) -> Tensor:
    """`scaling` * `left`' @ `right`, (rank, size) of (tokens, rank) and (tokens, size), or that `transposed`;
    float32."""
    import torch

    native.require(len(left) == len(right), "a gradient of LoRA")
    rank, size = left.shape[1], right.shape[1]
    answer = torch.empty((size, rank) if transposed else (rank, size))
    sizes = left.shape[0], rank, size
    _low_rank(GRADIENT, left, right, answer, sizes, scaling, transposed)
    return answer


def _require_product(answer: Tensor, left: Tensor, right: Tensor, transposed: bool) -> None:
    """RuntimeError unless `answer` has the shape of `left` @ `right`, or that `transposed`."""
    shape = tuple(reversed(right.shape)) if transposed else tuple(right.shape)
    fits = shape == (left.shape[1], answer.shape[1]) and len(answer) == len(left)
    native.require(fits and answer.dtype == left.dtype, "a product of LoRA")


def _low_rank(
    kernel: native.Kernel,
    left: Tensor,
    right: Tensor,
    answer: Tensor,
    sizes: tuple[int, ...],
    scaling: float,
    transposed: bool,
) -> None:
    rows = all(part.stride(1) == 1 or part.shape[1] == 1 for part in (left, answer))
    native.require(rows and right.is_contiguous() and left.dtype == right.dtype, "a product of LoRA")
    matrices = left.data_ptr(), left.stride(0), right.data_ptr(), answer.data_ptr(), answer.stride(0)
    kernel(*matrices, *sizes, scaling, transposed, native.threads())
