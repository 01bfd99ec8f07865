"""Attention within the rows of one concatenated sequence, row by row, without padding or a mask.

Rows may share their beginning, which is then computed once: both answers to a prompt, for example.

Registered with transformers as an attention implementation. Without `row_lengths` it is transformers' SDPA,
so that generation works as before.
"""

from __future__ import annotations

from typing import Any

NAME = "hone_rows"

# Rows up to this many tokens compute their score matrix: on a CPU in bfloat16 that takes half the time of
# torch's flash kernel, whose backward pass is slow there. Longer rows would need too much memory.
LONGEST_SCORES = 512

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
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    return NAME


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    row_lengths: list[int] | None = None,
    shared: list[int] | None = None,
    kept: Any = None,
    **others: Any,
) -> tuple[Any, None]:
    """Causal attention of `query`, `key`, `value` (1, heads, tokens, size) within rows of `row_lengths`
    tokens, each with at most `sliding_window` tokens; returns (1, tokens, heads, size).

    Where `shared` has a number other than 0 for a row, the row continues the first so many tokens of the
    nearest row before it that has a 0.

    With `kept`, the KeptRows that `key` and `value` come from, `query` has the last token of every row.

    NotImplementedError for anything else that a model may require.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if row_lengths is None and kept is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **others
        )
    import torch

    causal = others.get("is_causal")
    if not (getattr(module, "is_causal", True) if causal is None else causal):
        raise NotImplementedError("attention in both directions")
    unknown = [name for name, word in others.items() if word is not None and name not in HARMLESS]
    if unknown:
        raise NotImplementedError(f"attention with {', '.join(unknown)}")
    if row_lengths is None:
        return kept.attend(query, key, value, scaling, sliding_window), None
    multiplies = query.dtype == torch.bfloat16 and query.device.type == "cpu" and dropout == 0.0
    rows = zip(*(tensor.split(row_lengths, dim=2) for tensor in (query, key, value)), strict=True)
    answers = []
    first: tuple[Any, ...] = ()
    for row, begun in zip(rows, shared or [0] * len(row_lengths), strict=True):
        if begun:
            q, k, v = (torch.cat([part[:, :, :begun], own], 2) for part, own in zip(first, row, strict=True))
        else:
            q, k, v = first = row
        length = q.shape[2]
        window = sliding_window if sliding_window is not None and sliding_window < length else None
        if multiplies and length <= LONGEST_SCORES:
            answers.append(_multiplied(q[:, :, begun:], k, v, scaling, window))
        else:
            seen = None if window is None else _seen(length, length, window, q.device)
            # The tokens that are shared are computed again: without a mask, the rest needs them.
            answer = torch.nn.functional.scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=seen,
                dropout_p=dropout,
                scale=scaling,
                is_causal=seen is None,
                enable_gqa=q.shape[1] != k.shape[1],
            )
            answers.append(answer[:, :, begun:])
    return torch.cat(answers, dim=2).transpose(1, 2).contiguous(), None


def _multiplied(query: Any, key: Any, value: Any, scaling: float | None, window: int | None) -> Any:
    """Attention of the last tokens of a row, as many as `query` has, to all of its tokens, by its definition,
    with one multiplication for the heads that share a key."""
    import torch

    heads, count, size = query.shape[1:]
    groups, length = key.shape[1:3]
    hidden = torch.zeros(count, length, dtype=query.dtype)
    hidden.masked_fill_(~_seen(count, length, window or length, query.device), float("-inf"))
    scores = torch.baddbmm(
        hidden.repeat(heads // groups, 1).expand(groups, -1, -1),
        query.reshape(groups, heads // groups * count, size),
        key[0].transpose(1, 2),
        alpha=size**-0.5 if scaling is None else scaling,
    )
    return torch.bmm(scores.softmax(-1), value[0]).view(1, heads, count, -1)


def _seen(count: int, length: int, window: int, device: Any) -> Any:
    """Which of `length` tokens (columns) each of the last `count` of them (rows) attends to."""
    import torch

    place = torch.arange(length, device=device)
    distance = place[length - count :, None] - place[None, :]
    return (distance >= 0) & (distance < window)
