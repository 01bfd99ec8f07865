"""Attention row by row with Hone's own kernel, forward and backward, for a CPU.

It keeps no scores for the backward pass, and computes those of bfloat16 in float32: closer to what float32
gives than products of matrices with torch.
"""

from __future__ import annotations

from ctypes import POINTER, Structure, c_float, c_int32, c_int64, c_void_p
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from trainer.kernels import native
from trainer.kernels.native import fields
from trainer.kernels.row_attention import Kind, Row

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from trainer.kernels.context import Context

    class _Context(Context, Protocol):
        others: tuple[list[tuple[slice, slice, slice]], bool, float]


# The keys that a row shares with none.
NONE = slice(0, 0)


class _Row(Structure):
    """`RowBounds` of native/kernels/packing.h."""

    _fields_ = fields(c_int64, "first_query", "queries", "first_shared", "shared", "first_own", "own")


class _Operands(Structure):
    """`AttentionOperands` of native/kernels/attention.cpp."""

    _fields_ = [
        *fields(c_void_p, "query", "key", "value"),
        *fields(c_int64, "query_step", "query_head_step", "key_step", "key_head_step"),
        *fields(c_int64, "value_step", "value_head_step"),
        *fields(c_void_p, "answer", "sums"),
        *fields(POINTER(_Row), "rows"),
        *fields(c_int64, "row_count"),
        *fields(c_int32, "heads", "groups", "size", "causal"),
        *fields(c_float, "scaling"),
        *fields(c_int32, "type", "threads", "backward"),
        *fields(c_void_p, "grad_output", "query_gradient", "key_gradient", "value_gradient"),
    ]


ATTENTION = native.Kernel("attention", _Operands)


def attends(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether `attention` can compute with `query`, `key` and `value` (1, heads, tokens, size)."""
    tensors = (query, key, value)
    steps = all(tensor.stride(3) == 1 for tensor in tensors)
    return (
        steps
        and query.shape[3] == value.shape[3]
        and query.shape[3] % native.HEAD == 0
        and ATTENTION.computes(*tensors)
    )


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
        native.require(alike and len(query) == len(key) == 1, "queries, keys and values")
        for asked, *seen in rows:
            count = sum(part.stop - part.start for part in seen)
            enough = not causal or asked.stop - asked.start <= count
            within = all(0 <= part.start <= part.stop <= keys for part in seen)
            native.require(
                enough and within and 0 <= asked.start <= asked.stop <= tokens, "a row of attention"
            )
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
        ATTENTION(
            *[part.data_ptr() for part in self.given],
            *[part.stride(dimension) for part in self.given for dimension in (2, 1)],
            *[answer.data_ptr(), sums.data_ptr(), self.rows, len(self.rows)],
            *[query.shape[1], key.shape[1], query.shape[3], self.causal],
            *[self.scaling, native.type_of(query), native.threads(), backward],
            *[part.data_ptr() for part in others],
        )


@lru_cache(maxsize=1)
def kernel_attention_class() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class KernelAttention(torch.autograd.Function):
        """`apply(query, key, value, rows, kind)`: as RowAttention without a bias, of a `plain` kind."""

        @staticmethod
        def forward(
            context: _Context, query: Tensor, key: Tensor, value: Tensor, rows: list[Row], kind: Kind
        ) -> Tensor:
            parts = [(row.queries, row.keys[0] if len(row.keys) == 2 else NONE, row.keys[-1]) for row in rows]
            context.others = parts, kind.causal, kind.scaling
            answer, sums = Attention(query, key, value, *context.others).forward()
            context.save_for_backward(query, key, value, answer, sums)
            return answer

        @staticmethod
        def backward(context: _Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
            query, key, value, answer, sums = context.saved_tensors
            attention = Attention(query, key, value, *context.others)
            return *attention.backward(answer, sums, grad_output), None, None

    return KernelAttention
