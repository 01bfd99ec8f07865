"""Attention within the rows of one concatenated sequence, row by row, without padding or a mask.

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
    **others: Any,
) -> tuple[Any, None]:
    """Causal attention of `query`, `key`, `value` (1, heads, tokens, size) within rows of `row_lengths`
    tokens, each with at most `sliding_window` tokens; returns (1, tokens, heads, size).

    NotImplementedError for anything else that a model may require.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if row_lengths is None:
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
    scores = query.dtype == torch.bfloat16 and query.device.type == "cpu" and dropout == 0.0
    rows = zip(*(tensor.split(row_lengths, dim=2) for tensor in (query, key, value)), strict=True)
    answers = []
    for q, k, v in rows:
        length = q.shape[2]
        window = sliding_window if sliding_window is not None and sliding_window < length else None
        if scores and length <= LONGEST_SCORES:
            answers.append(_multiplied(q, k, v, scaling, window))
        else:
            seen = None if window is None else _seen(length, window, q.device)
            answers.append(
                torch.nn.functional.scaled_dot_product_attention(
                    q,
                    k,
                    v,
                    attn_mask=seen,
                    dropout_p=dropout,
                    scale=scaling,
                    is_causal=seen is None,
                    enable_gqa=q.shape[1] != k.shape[1],
                )
            )
    return torch.cat(answers, dim=2).transpose(1, 2).contiguous(), None


def _multiplied(query: Any, key: Any, value: Any, scaling: float | None, window: int | None) -> Any:
    """Attention of one row by its definition, with one multiplication for the heads that share a key."""
    import torch

    heads, length, size = query.shape[1:]
    groups = key.shape[1]
    hidden = torch.zeros(length, length, dtype=query.dtype)
    hidden.masked_fill_(~_seen(length, window or length, query.device), float("-inf"))
    scores = torch.baddbmm(
        hidden.repeat(heads // groups, 1).expand(groups, -1, -1),
        query.reshape(groups, heads // groups * length, size),
        key[0].transpose(1, 2),
        alpha=size**-0.5 if scaling is None else scaling,
    )
    return torch.bmm(scores.softmax(-1), value[0]).view(1, heads, length, -1)


def _seen(length: int, window: int, device: Any) -> Any:
    """Which tokens (columns) each token (rows) attends to."""
    import torch

    place = torch.arange(length, device=device)
    distance = place[:, None] - place[None, :]
    return (distance >= 0) & (distance < window)
