"""Attention row by row as products of matrices, forward and backward, for a CPU.

torch's own kernel takes about twice as long there in bfloat16, and more in its backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from trainer.libraries.torch import softmax_gradient

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from trainer.kernels.context import Context

    class _Context(Context, Protocol):
        rows: list[Row]
        kind: Kind


# Queries whose scores are computed at once. Of keys that follow them, causal attention computes no scores.
BLOCK = 128
# Rows with more tokens do not keep their scores for the backward pass, which computes them again.
LONGEST_KEPT = 512


@dataclass(frozen=True)
class Row:
    """The positions of a row's `queries` in the sequence, and those of its keys in one or two parts: those
    that are shared with another row come first."""

    queries: slice
    keys: tuple[slice, ...]

    @property
    def blocks(self) -> range:
        """Where each block of queries begins, in the row."""
        return range(0, self.queries.stop - self.queries.start, BLOCK)


@dataclass(frozen=True)
class Kind:
    """`scaling` of scores; `causal` with at most `window` tokens (None: all), else in both directions;
    `dropout` of probabilities."""

    scaling: float
    causal: bool
    window: int | None
    dropout: float

    @property
    def plain(self) -> bool:
        """Whether nothing but later tokens is hidden, and nothing is dropped."""
        return self.window is None and self.dropout == 0.0 and self.scaling > 0.0


@lru_cache(maxsize=1)
def row_attention_class() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class RowAttention(torch.autograd.Function):
        """`apply(query, key, value, bias, rows, kind)`: what the queries of each of `rows` attend to.

        query (1, heads, tokens, size), key and value (1, groups, tokens, size), where heads that follow each
        other share a group; bias, added to scores, (heads, longest row, longest row) or None, without
        gradient. Returns (1, tokens, heads, size), undefined for queries of no row."""

        @staticmethod
        def forward(
            context: _Context,
            query: Tensor,
            key: Tensor,
            value: Tensor,
            bias: Tensor | None,
            rows: list[Row],
            kind: Kind,
        ) -> Tensor:
            # Where the scaling is a power of 2, as often, this rounds nothing.
            query = query * kind.scaling if kind.scaling != 1.0 else query
            heads, tokens = query.shape[1:3]
            answer = query.new_empty(1, tokens, heads, value.shape[3])
            kept: list[Tensor | None] = []
            for row in rows:
                keys, values = (_gathered(tensor, row) for tensor in (key, value))
                long = keys.shape[1] > LONGEST_KEPT and kind.dropout == 0.0
                for start in row.blocks:
                    queries, seen, probabilities = _probabilities(query, keys, bias, row, start, kind)
                    dropped = _dropped(probabilities, kind.dropout)
                    used = probabilities if dropped is None else probabilities * dropped
                    found = torch.bmm(used, values[:, seen])
                    _of_heads(answer, queries, keys.shape[0]).copy_(
                        found.view(*_split(found, queries), -1).permute(2, 0, 1, 3)
                    )
                    kept += [None, None] if long else [probabilities, dropped]
            context.save_for_backward(query, key, value, bias, *kept)
            context.rows, context.kind = rows, kind
            return answer

        @staticmethod
        def backward(context: _Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
            query, key, value, bias, *kept = context.saved_tensors
            kind = context.kind
            # Not all queries need be in a row.
            of_query = torch.zeros_like(query)
            # Blocks, and rows that share keys, add to them.
            of_key, of_value = (torch.zeros(part.shape[1:], dtype=torch.float32) for part in (key, value))
            saved = iter(kept)
            for row in context.rows:
                keys, values = (_gathered(tensor, row) for tensor in (key, value))
                own_keys, own_values = (
                    torch.zeros_like(part, dtype=torch.float32) for part in (keys, values)
                )
                for start in row.blocks:
                    probabilities, dropped = next(saved), next(saved)
                    queries = _queries(row, start)
                    seen = _seen(keys.shape[1], row, start, kind)
                    if probabilities is None:
                        probabilities = _probabilities(query, keys, bias, row, start, kind)[2]
                    used = probabilities if dropped is None else probabilities * dropped
                    groups = keys.shape[0]
                    given = _of_heads(grad_output, queries, groups).permute(1, 2, 0, 3)
                    given = given.reshape(groups, -1, values.shape[2])
                    own_values[:, seen] += torch.bmm(used.transpose(1, 2), given)
                    slope = torch.bmm(given, values[:, seen].transpose(1, 2))
                    if dropped is not None:
                        slope *= dropped
                    slope = softmax_gradient(slope, probabilities)
                    asked = query[0, :, queries].reshape(groups, -1, query.shape[3])
                    found = torch.bmm(slope, keys[:, seen])
                    of_query[0, :, queries] = found.view(query.shape[1], -1, query.shape[3])
                    own_keys[:, seen] += torch.bmm(slope.transpose(1, 2), asked)
                at = 0
                for part in row.keys:
                    count = part.stop - part.start
                    of_key[:, part] += own_keys[:, at : at + count]
                    of_value[:, part] += own_values[:, at : at + count]
                    at += count
            if kind.scaling != 1.0:
                of_query *= kind.scaling
            return of_query, of_key[None].to(key.dtype), of_value[None].to(value.dtype), None, None, None

    return RowAttention


def _gathered(tensor: Tensor, row: Row) -> Tensor:
    """The keys or values (groups, tokens, size) of a row."""
    import torch

    parts = [tensor[0, :, positions] for positions in row.keys]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)


def _queries(row: Row, start: int) -> slice:
    """The positions of the queries of the block of a row that begins at `start`."""
    begun = row.queries.start + start
    return slice(begun, min(begun + BLOCK, row.queries.stop))


def _seen(length: int, row: Row, start: int, kind: Kind) -> slice:
    """Which of the row's `length` keys any query of that block sees."""
    if not kind.causal:
        return slice(0, length)
    # The queries are the last tokens of the row.
    offset = length - (row.queries.stop - row.queries.start) + start
    queries = _queries(row, start)
    first = 0 if kind.window is None else max(0, offset - kind.window + 1)
    return slice(first, offset + queries.stop - queries.start)


def _probabilities(
    query: Tensor, keys: Tensor, bias: Tensor | None, row: Row, start: int, kind: Kind
) -> tuple[slice, slice, Tensor]:
    """The positions of the queries (scaled) of a block, those of the keys that they see, and how much each
    attends to each: (groups, heads of a group * queries, keys)."""
    import torch

    queries, seen = _queries(row, start), _seen(keys.shape[1], row, start, kind)
    count, groups = queries.stop - queries.start, keys.shape[0]
    asked = query[0, :, queries].reshape(groups, -1, query.shape[3])
    part = keys[:, seen].transpose(1, 2)
    scores = torch.bmm(asked, part)
    if bias is not None:
        # Where the first of these queries stands among the keys.
        offset = keys.shape[1] - (row.queries.stop - row.queries.start) + start if kind.causal else start
        scores += bias[:, offset : offset + count, seen].reshape(groups, -1, part.shape[2])
    if kind.causal:
        every = scores.view(groups, -1, count, part.shape[2])
        every[..., part.shape[2] - count :] += _later(count, scores.dtype)
        if kind.window is not None and part.shape[2] > kind.window:
            every += _earlier(count, part.shape[2], kind.window, scores.dtype)
    return queries, seen, torch.softmax(scores, -1, out=scores)


def _dropped(probabilities: Tensor, dropout: float) -> Tensor | None:
    """What probabilities are multiplied with, None without dropout."""
    import torch

    return (
        None if dropout == 0.0 else torch.empty_like(probabilities).bernoulli_(1 - dropout).div_(1 - dropout)
    )


def _of_heads(tensor: Tensor, queries: slice, groups: int) -> Tensor:
    """The tokens of `tensor` (1, tokens, heads, size) at `queries`: (tokens, groups, heads of one, size)."""
    return tensor[0, queries].view(queries.stop - queries.start, groups, -1, tensor.shape[3])


def _split(found: Tensor, queries: slice) -> tuple[int, int, int]:
    """Groups, heads of a group, and queries, of `found` (groups, heads of a group * queries, size)."""
    count = queries.stop - queries.start
    return found.shape[0], found.shape[1] // count, count


@lru_cache(maxsize=8)
def _mask(dtype: torch.dtype) -> Tensor:
    """Minus infinity for each of BLOCK tokens (columns) that comes after a query (rows)."""
    import torch

    return torch.full((BLOCK, BLOCK), float("-inf"), dtype=dtype).triu(1)


def _later(count: int, dtype: torch.dtype) -> Tensor:
    return _mask(dtype)[:count, :count]


def _earlier(count: int, length: int, window: int, dtype: torch.dtype) -> Tensor:
    """Minus infinity for each of `length` keys before the window of one of the last `count` tokens."""
    import torch

    positions = torch.arange(length)
    before = positions[length - count :, None] - positions[None, :] >= window
    return torch.zeros(count, length, dtype=dtype).masked_fill_(before, float("-inf"))
