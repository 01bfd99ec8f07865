"""Attention within the rows of one concatenated sequence, row by row, without padding or a mask.

Rows may share their beginning, which is then computed once: both answers to a prompt, for example. Registered
with transformers as an attention implementation. Without `row_lengths` it is transformers' SDPA, so that
generation works as before.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from trainer.kernels.kernel_attention import attends, kernel_attention_class
from trainer.kernels.last_layer import used_queries
from trainer.kernels.row_attention import Kind, Row, row_attention_class
from trainer.libraries.transformers import usual_attention

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

NAME = "hone_rows"

# Arguments that models pass and that do not change the result.
HARMLESS = (
    "is_causal",
    "position_ids",
    "use_cache",
    "output_attentions",
    "cache_position",
    "past_key_values",
)


def register() -> str:
    """Registers the attention with transformers; returns its name for `set_attn_implementation`."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, usual_attention()[1])
    return NAME


class Keeps(Protocol):
    """Keys and values of rows that are written token by token, as KeptRows has them."""

    def attend(self, query: Tensor, scaling: float | None, window: int | None) -> Tensor:
        """Attention of the last token of every row."""


def attend(
    module: Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    position_bias: Tensor | None = None,
    row_lengths: list[int] | None = None,
    source_lengths: list[int] | None = None,
    shared: list[int] | None = None,
    kept: Keeps | None = None,
    used: Tensor | None = None,
    **others: object,
) -> tuple[Tensor, None]:
    """Attention of `query`, `key`, `value` (1, heads, tokens, size) within rows of `row_lengths` tokens, each
    with at most `sliding_window` tokens; returns (1, tokens, heads, size).

    `position_bias` (1, heads, tokens, tokens) is added to scores; it may only depend on distances in a row.
    In a decoder with `source_lengths`, layers that are not causal attend to the encoder's rows of these
    lengths, without a bias. Where `shared` has a number other than 0 for a row, the row continues the first
    so many tokens of the nearest row before it that has a 0.

    Where only the states of the tokens at `used` (ascending) are used after the last layer, what that layer's
    other tokens attend to is not computed.

    With `kept`, the KeptRows that `key` and `value` were given to, `query` has the last token of every row.

    NotImplementedError for anything else that a model may require.
    """
    last = getattr(module, "used", None)
    if last is not None:
        last.positions = used
    if row_lengths is None and kept is None:
        return _usual(module, query, key, value, attention_mask, dropout, scaling, position_bias, others)
    is_causal = others.get("is_causal")
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    unknown = [name for name, word in others.items() if word is not None and name not in HARMLESS]
    if unknown:
        raise NotImplementedError(f"attention with {', '.join(unknown)}")
    if kept is not None:
        if not causal or position_bias is not None:
            raise NotImplementedError("kept rows of attention in both directions, or with a bias")
        return kept.attend(query, scaling, sliding_window), None
    assert row_lengths is not None
    if sliding_window is not None and not causal:
        raise NotImplementedError("attention in both directions within a window")
    if source_lengths is not None and not causal:
        rows = _rows(row_lengths, source_lengths)
        # The model has zeros here: positions of sources and targets have no distance.
        position_bias = None
    else:
        rows = _rows(row_lengths, None, shared)
    if position_bias is not None and position_bias.requires_grad:
        raise NotImplementedError("attention with a bias that is trained")
    kind = Kind(query.shape[3] ** -0.5 if scaling is None else scaling, causal, sliding_window, dropout)
    bias = None if position_bias is None else position_bias[0]
    if query.device.type == "cpu":
        if last is not None and used is not None and causal:
            rows = used_queries(rows, used.tolist())
        if bias is None and kind.plain and attends(query, key, value):
            return kernel_attention_class().apply(query, key, value, rows, kind), None
        return row_attention_class().apply(query, key, value, bias, rows, kind), None
    return _by_kernel(query, key, value, bias, rows, kind), None


def _usual(
    module: Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    dropout: float,
    scaling: float | None,
    bias: Tensor | None,
    others: dict[str, object],
) -> tuple[Tensor, None]:
    """That of transformers."""
    given = others if bias is None else {**others, "position_bias": bias}
    return usual_attention()[0](module, query, key, value, mask, dropout=dropout, scaling=scaling, **given)


def _rows(lengths: list[int], sources: list[int] | None, shared: list[int] | None = None) -> list[Row]:
    """The positions of rows with these `lengths` and of their keys."""
    rows, first = [], slice(0, 0)
    keys = _positions(sources) if sources is not None else _positions(lengths)
    for own, other, begun in zip(_positions(lengths), keys, shared or [0] * len(lengths), strict=True):
        if begun:
            rows.append(Row(own, (slice(first.start, first.start + begun), other)))
        else:
            rows.append(Row(own, (other,)))
            first = own
    return rows


def _positions(lengths: list[int]) -> list[slice]:
    """Where rows of these lengths lie that follow each other."""
    return [slice(end - length, end) for length, end in zip(lengths, accumulate(lengths), strict=True)]


def _by_kernel(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, rows: list[Row], kind: Kind
) -> Tensor:
    """The same with torch's kernel."""
    import torch

    answers = []
    for row in rows:
        k, v = (torch.cat([part[:, :, positions] for positions in row.keys], 2) for part in (key, value))
        count, length = row.queries.stop - row.queries.start, k.shape[2]
        q = query[:, :, row.queries]
        seen = None
        if kind.causal and (bias is not None or count < length or (kind.window or length) < length):
            positions = torch.arange(length, device=query.device)
            distance = positions[length - count :, None] - positions[None, :]
            seen = (distance >= 0) & (distance < (kind.window or length))
        if bias is not None:
            added = bias[None, :, length - count : length, :length]
            seen = added if seen is None else added.masked_fill(~seen, float("-inf"))
        answers.append(
            torch.nn.functional.scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=seen,
                dropout_p=kind.dropout,
                scale=kind.scaling,
                is_causal=kind.causal and seen is None,
                enable_gqa=q.shape[1] != k.shape[1],
            )
        )
    return torch.cat(answers, dim=2).transpose(1, 2).contiguous()
