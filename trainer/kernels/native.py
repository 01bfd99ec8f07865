"""Hone's own kernels for a CPU (`native/kernels/`): each is one pass where torch needs several.

They are built with the native addon. Without them, as on Windows or without a compiler, torch computes the
same.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint64,
    c_void_p,
)
from functools import lru_cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.kernels.allowed import PLAIN, is_plain

if TYPE_CHECKING:
    from _ctypes import _CDataType

    from torch import Tensor

ROOT = Path(__file__).parents[2]
# `HONE_NATIVE_BUILD` names another build folder, as for the addon.
FILE = ROOT / os.environ.get("HONE_NATIVE_BUILD", "build/native") / "Release" / "training-kernels.so"

# Numbers of a head must be a multiple of it, which all vectors divide.
HEAD = 16


def _named(kind: type[_CDataType], *names: str) -> list[tuple[str, type[_CDataType]]]:
    """Fields of one type."""
    return [(name, kind) for name in names]


class _Row(Structure):
    """`HoneRow` of native/kernels/kernels.h, as are the others by their names."""

    _fields_ = _named(c_int64, "first_query", "queries", "first_shared", "shared", "first_own", "own")


class _Attention(Structure):
    _fields_ = [
        *_named(c_void_p, "query", "key", "value"),
        *_named(c_int64, "query_step", "query_head_step", "key_step", "key_head_step"),
        *_named(c_int64, "value_step", "value_head_step"),
        *_named(c_void_p, "answer", "sums"),
        *_named(POINTER(_Row), "rows"),
        *_named(c_int64, "row_count"),
        *_named(c_int32, "heads", "groups", "size", "causal"),
        *_named(c_float, "scaling"),
        *_named(c_int32, "type", "threads"),
        *_named(c_void_p, "grad_output", "query_gradient", "key_gradient", "value_gradient"),
    ]


class _Gate(Structure):
    _fields_ = [
        *_named(c_void_p, "gate", "up", "product", "gate_gradient"),
        *_named(c_int64, "count"),
        *_named(c_int32, "type", "threads"),
    ]


class _LowRank(Structure):
    _fields_ = [
        *_named(c_void_p, "left"),
        *_named(c_int64, "left_step"),
        *_named(c_void_p, "right"),
        *_named(c_void_p, "answer"),
        *_named(c_int64, "answer_step"),
        *_named(c_int64, "rows", "rank", "columns"),
        *_named(c_float, "scaling"),
        *_named(c_int32, "transposed", "threads"),
    ]


class _Norm(Structure):
    _fields_ = [
        *_named(c_void_p, "x", "weight", "factors", "answer", "grad_output"),
        *_named(c_int64, "rows", "size"),
        *_named(c_float, "added", "epsilon"),
        *_named(c_int32, "type", "threads"),
    ]


class _Rotation(Structure):
    _fields_ = [
        *_named(c_void_p, "x"),
        *_named(c_int64, "step", "head_step"),
        *_named(c_void_p, "cosines", "sines", "answer"),
        *_named(c_int64, "tokens"),
        *_named(c_int32, "heads", "size", "backward"),
        *_named(c_int32, "type", "threads"),
    ]


class _Softmax(Structure):
    _fields_ = [
        *_named(c_void_p, "logits", "labels"),
        *_named(c_void_p, "chosen", "sum", "mean", "expected", "likeliest"),
        *_named(c_int64, "rows", "vocab_size"),
        *_named(c_float, "sign"),
        *_named(c_int32, "type", "threads"),
    ]


# In the order of `hone_layout`.
STRUCTURES = (_Row, _Attention, _Gate, _Norm, _Softmax, _Rotation, _LowRank)


def layout() -> int:
    """What `hone_layout` of a library with the same structures returns."""
    return reduce(lambda found, kind: found * 1009 + ctypes.sizeof(kind), STRUCTURES, 0) % 2**64


def library() -> ctypes.CDLL | None:
    """The kernels, or None where they are off, not built, not loadable or those of another version."""
    return None if is_plain() else _loaded()


def _functions() -> ctypes.CDLL:
    """The kernels; AttributeError where there are none, as for a function that they lack."""
    found = library()
    if found is None:
        raise AttributeError("there are no kernels")
    return found


@lru_cache(maxsize=1)
def _loaded() -> ctypes.CDLL | None:
    # torch brings the OpenMP library that both then share.
    import torch  # noqa: F401

    try:
        found = ctypes.CDLL(str(FILE))
        found.hone_layout.restype = c_uint64
        if found.hone_layout() != layout():
            return None
        found.hone_kernels.restype = c_char_p
        found.hone_use.restype, found.hone_use.argtypes = c_char_p, [c_size_t]
        found.hone_attention.restype, found.hone_attention.argtypes = c_int, [POINTER(_Attention), c_int]
        found.hone_gate.restype, found.hone_gate.argtypes = None, [POINTER(_Gate)]
        for function in (found.hone_low_rank_down, found.hone_low_rank_up, found.hone_low_rank_gradient):
            function.restype, function.argtypes = c_int, [POINTER(_LowRank)]
        found.hone_norm.restype, found.hone_norm.argtypes = None, [POINTER(_Norm)]
        found.hone_rotation.restype, found.hone_rotation.argtypes = None, [POINTER(_Rotation)]
        found.hone_softmax.restype, found.hone_softmax.argtypes = c_int, [POINTER(_Softmax)]
    except (OSError, AttributeError):
        return None
    return found


def told() -> str:
    """Whether there are kernels, in words."""
    if is_plain():
        return f"without Hone's kernels, as {PLAIN} is set"
    if library() is None:
        return "without Hone's kernels, which are built with the native addon"
    return f"with Hone's kernels for {_functions().hone_kernels().decode()}"


def computes(*tensors: Tensor) -> bool:
    """Whether the kernels can compute with `tensors`: on a CPU, and all of one type that they know."""
    types = {_type(tensor) for tensor in tensors}
    on_cpu = all(tensor.device.type == "cpu" for tensor in tensors)
    return library() is not None and on_cpu and len(types) == 1 and None not in types


def _require(fits: bool, what: str) -> None:
    """RuntimeError, as of torch, where sizes do not fit: the kernels themselves trust them."""
    if not fits:
        raise RuntimeError(f"the sizes or types of {what} do not fit together")


def _lie_alike(*tensors: Tensor) -> bool:
    """Whether `tensors` have the same shape and type, and no gaps."""
    first = tensors[0]
    same = all(part.shape == first.shape and part.dtype == first.dtype for part in tensors)
    return same and all(part.is_contiguous() for part in tensors)


def attends(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether `attention` can compute with `query`, `key` and `value` (1, heads, tokens, size)."""
    tensors = (query, key, value)
    steps = all(tensor.stride(3) == 1 for tensor in tensors)
    return steps and query.shape[3] == value.shape[3] and query.shape[3] % HEAD == 0 and computes(*tensors)


class Attention:
    """Attention of `query` (1, heads, tokens, size), `key` and `value` (1, groups, tokens, size), as
    `attends` allows, in `rows`, each (queries, shared keys, own keys) as slices. If it is `causal`, the
    queries of a row are its last tokens and see no later keys."""

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        rows: list[tuple[slice, slice, slice]],
        causal: bool,
        scaling: float,
    ) -> None:
        self.given = query, key, value
        heads, tokens, size = query.shape[1:]
        groups, keys = key.shape[1:3]
        alike = key.shape == value.shape and key.shape[3] == size and heads % groups == 0
        _require(alike and len(query) == len(key) == 1, "queries, keys and values")
        for asked, *seen in rows:
            count = sum(part.stop - part.start for part in seen)
            enough = not causal or asked.stop - asked.start <= count
            within = all(0 <= part.start <= part.stop <= keys for part in seen)
            _require(enough and within and 0 <= asked.start <= asked.stop <= tokens, "a row of attention")
        bounds = [[bound for part in row for bound in (part.start, part.stop - part.start)] for row in rows]
        self.rows = (_Row * len(rows))(*[_Row(*row) for row in bounds])
        self.causal, self.scaling = causal, scaling

    def forward(self) -> tuple[Tensor, Tensor]:
        """The answers (1, tokens, heads, size), undefined for queries of no row, and what `backward` needs
        (tokens, heads)."""
        import torch

        heads, tokens, size = self.given[0].shape[1:]
        answer = self.given[0].new_empty(1, tokens, heads, size)
        sums = torch.empty(tokens, heads)
        self._call(0, answer, sums)
        return answer, sums

    def backward(self, answer: Tensor, sums: Tensor, grad_output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of query, key and value."""
        import torch

        grad_output = grad_output.contiguous()
        # Not all queries need be in a row.
        of_query = torch.zeros_like(answer)
        # Heads, and rows that share keys, add to them.
        of_key, of_value = (
            torch.zeros(1, part.shape[2], part.shape[1], part.shape[3]) for part in self.given[1:]
        )
        self._call(1, answer, sums, grad_output, of_query, of_key, of_value)
        found = [part.to(answer.dtype).transpose(1, 2) for part in (of_query, of_key, of_value)]
        return found[0], found[1], found[2]

    def _call(self, backward: int, answer: Tensor, sums: Tensor, *others: Tensor) -> None:
        query, key = self.given[:2]
        given = _Attention(
            *[part.data_ptr() for part in self.given],
            *[part.stride(dimension) for part in self.given for dimension in (2, 1)],
            *[answer.data_ptr(), sums.data_ptr(), self.rows, len(self.rows)],
            *[query.shape[1], key.shape[1], query.shape[3], self.causal],
            *[self.scaling, _type(query), _threads()],
            *[part.data_ptr() for part in others],
        )
        if _functions().hone_attention(byref(given), backward) != 0:
            raise MemoryError("out of memory in attention")


def gate(gates: Tensor, ups: Tensor) -> Tensor:
    """SiLU(`gates`) * `ups`, both without gaps."""
    import torch

    _require(_lie_alike(gates, ups), "a gate")
    product = torch.empty_like(gates)
    _gate(gates, ups, product, None)
    return product


def gate_gradients(
    gates: Tensor, ups: Tensor, grad_output: Tensor, of_gates: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of `gates` and `ups` from that of `gate`, `grad_output`: in the memory of `of_gates` and
    of `grad_output`."""
    _require(_lie_alike(gates, ups, grad_output, of_gates), "the gradients of a gate")
    _gate(gates, ups, grad_output, of_gates)
    return of_gates, grad_output


def _gate(gates: Tensor, ups: Tensor, product: Tensor, of_gates: Tensor | None) -> None:
    pointers = [part.data_ptr() for part in (gates, ups, product)]
    last = None if of_gates is None else of_gates.data_ptr()
    _functions().hone_gate(byref(_Gate(*pointers, last, gates.numel(), _type(gates), _threads())))


def multiplies(rows: Tensor, ranks: list[int], *sizes: int) -> bool:
    """Whether `down`, `add_up` and `gradient` can compute with `rows` (tokens, size), matrices of these
    `ranks` and of `sizes`. Only in bfloat16, where the processor multiplies it and oneDNN would compile a
    program for each shape."""
    import torch

    if rows.dtype != torch.bfloat16 or not computes(rows) or not rows.is_contiguous():
        return False
    fits = all(size % HEAD == 0 for size in (*ranks, *sizes, rows.shape[1]))
    return fits and _functions().hone_kernels() == b"avx512_bf16"


def down(left: Tensor, right: Tensor, transposed: bool, scaling: float, answer: Tensor) -> None:
    """Sets `answer` (tokens, rank) to `scaling` * `left` (tokens, size) @ `right` (size, rank), or that
    `transposed`."""
    sizes = left.shape[0], answer.shape[1], left.shape[1]
    _require_product(answer, left, right, transposed)
    _low_rank(_functions().hone_low_rank_down, left, right, answer, sizes, scaling, transposed)


def add_up(answer: Tensor, left: Tensor, right: Tensor, transposed: bool, scaling: float) -> None:
    """Adds `scaling` * `left` (tokens, rank) @ `right` (rank, size), or that `transposed`, to `answer`
    (tokens, size)."""
    sizes = left.shape[0], left.shape[1], answer.shape[1]
    _require_product(answer, left, right, transposed)
    _low_rank(_functions().hone_low_rank_up, left, right, answer, sizes, scaling, transposed)


def gradient(left: Tensor, right: Tensor, transposed: bool, scaling: float) -> Tensor:
    """`scaling` * `left`' @ `right`, (rank, size) of (tokens, rank) and (tokens, size), or that `transposed`;
    float32."""
    import torch

    _require(len(left) == len(right), "a gradient of LoRA")
    rank, size = left.shape[1], right.shape[1]
    answer = torch.empty((size, rank) if transposed else (rank, size))
    sizes = left.shape[0], rank, size
    _low_rank(_functions().hone_low_rank_gradient, left, right, answer, sizes, scaling, transposed)
    return answer


def _require_product(answer: Tensor, left: Tensor, right: Tensor, transposed: bool) -> None:
    """RuntimeError unless `answer` has the shape of `left` @ `right`, or that `transposed`."""
    shape = tuple(reversed(right.shape)) if transposed else tuple(right.shape)
    fits = shape == (left.shape[1], answer.shape[1]) and len(answer) == len(left)
    _require(fits and answer.dtype == left.dtype, "a product of LoRA")


def _low_rank(
    function: ctypes._NamedFuncPointer,
    left: Tensor,
    right: Tensor,
    answer: Tensor,
    sizes: tuple[int, ...],
    scaling: float,
    transposed: bool,
) -> None:
    rows = all(part.stride(1) == 1 or part.shape[1] == 1 for part in (left, answer))
    _require(rows and right.is_contiguous() and left.dtype == right.dtype, "a product of LoRA")
    matrices = left.data_ptr(), left.stride(0), right.data_ptr(), answer.data_ptr(), answer.stride(0)
    if function(byref(_LowRank(*matrices, *sizes, scaling, transposed, _threads()))) != 0:
        raise MemoryError("out of memory in a product of LoRA")


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
    _require(fits and _lie_alike(x, x if grad_output is None else grad_output), "a norm")
    answer = torch.empty_like(x)
    pointers = [part.data_ptr() for part in (x, weight, factors, answer)]
    last = None if grad_output is None else grad_output.data_ptr()
    sizes = x.numel() // x.shape[-1], x.shape[-1]
    _functions().hone_norm(byref(_Norm(*pointers, last, *sizes, added, epsilon, _type(x), _threads())))
    return answer


def rotates(x: Tensor, cosines: Tensor, sines: Tensor) -> bool:
    """Whether `rotation` can compute with `x` (1, heads, tokens, size), and `cosines` and `sines`."""
    size = x.shape[3]
    tables = cosines.shape == sines.shape == (1, x.shape[2], size)
    plain = x.shape[0] == 1 and x.stride(3) == 1 and cosines.is_contiguous() and sines.is_contiguous()
    return tables and plain and size % (2 * HEAD) == 0 and computes(x, cosines, sines)


def rotation(x: Tensor, cosines: Tensor, sines: Tensor, backward: bool) -> Tensor:
    """The halves of the heads of `x` (1, heads, tokens, size), rotated by their positions, whose `cosines`
    and `sines` (1, tokens, size) are known; `backward` in the other direction, as for gradients."""
    _require(rotates(x, cosines, sines), "a rotation")
    answer = x.new_empty(1, x.shape[2], x.shape[1], x.shape[3])
    steps = x.stride(2), x.stride(1)
    pointers = [part.data_ptr() for part in (cosines, sines, answer)]
    sizes = x.shape[2], x.shape[1], x.shape[3]
    given = _Rotation(x.data_ptr(), *steps, *pointers, *sizes, backward, _type(x), _threads())
    _functions().hone_rotation(byref(given))
    return answer.transpose(1, 2)


def softmax(logits: Tensor, labels: Tensor, sign: float) -> Tensor:
    """What the softmax of `logits` (rows, vocab_size), without gaps, says of the `labels` of the rows: the
    label's logit, the logarithm of the sum of exponentials, the mean of the logits, their mean by the
    softmax, and whether the label's is the first of the largest; float32 (5, rows).

    Logits become `sign` times the softmax less 1 at the label, unless `sign` is 0. IndexError where a label
    is outside of the vocabulary.
    """
    import torch

    rows, vocab_size = logits.shape
    fits = labels.shape == (rows,) and labels.dtype == torch.int64 and logits.is_contiguous()
    _require(fits, "logits and labels")
    # A model's vocabulary may be smaller than its tokenizer's.
    if rows > 0 and not 0 <= int(labels.min()) <= int(labels.max()) < vocab_size:
        raise IndexError(f"a label is none of the model's {vocab_size} tokens")
    found = torch.empty(5, rows)
    labels = labels.contiguous()
    figures = [figure.data_ptr() for figure in found]
    others = rows, vocab_size, sign, _type(logits), _threads()
    if (
        _functions().hone_softmax(byref(_Softmax(logits.data_ptr(), labels.data_ptr(), *figures, *others)))
        != 0
    ):
        raise MemoryError("out of memory in softmax")
    return found


def _type(tensor: Tensor) -> int | None:
    """`HoneType` of a tensor."""
    return {"torch.float32": 0, "torch.bfloat16": 1}.get(str(tensor.dtype))


def _threads() -> int:
    import torch

    return torch.get_num_threads()
