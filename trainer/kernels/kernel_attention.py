"""Attention row by row with Hone's own kernel, forward and backward, for a CPU.

It keeps no scores for the backward pass, and computes those of bfloat16 in float32: closer to what float32
gives than products of matrices with torch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from trainer.kernels.native import Attention
from trainer.kernels.row_attention import Kind, Row

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from trainer.kernels.context import Context

    class _Context(Context, Protocol):
        others: tuple[list[tuple[slice, slice, slice]], bool, float]


# The keys that a row shares with none.
NONE = slice(0, 0)


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
