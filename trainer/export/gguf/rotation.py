"""Heads of which a part is rotated.

transformers rotates numbers half a head apart, llama.cpp's Llama neighbours, so the converter's class for it
reorders the rows of queries and keys. It does so with whole heads also where only their first numbers are
rotated (Bamba); then other numbers would be rotated together than in training.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@contextmanager
def partial_rotation(hparams: Mapping[str, object]) -> Iterator[None]:
    """Makes the converter, which is loaded, reorder no more of a head than the configuration rotates."""
    share = _share(hparams)
    if share == 1:
        yield
        return
    llama = importlib.import_module("conversion.llama").LlamaModel
    original = llama.permute

    def permute(weights: Tensor, n_head: int, n_head_kv: int | None) -> Tensor:
        heads = n_head if n_head_kv is None else n_head_kv
        rest = (slice(None),) * (len(weights.shape) - 1)
        index: tuple[Tensor | slice, ...] = (_order(weights.shape[0] // heads, heads, share), *rest)
        return weights[index]

    llama.permute = staticmethod(permute)
    try:
        yield
    finally:
        llama.permute = original


def _share(hparams: Mapping[str, object]) -> float:
    """The share of a head that is rotated."""
    rope = hparams.get("rope_parameters") or {}
    found = hparams.get("partial_rotary_factor")
    if isinstance(rope, dict):
        found = rope.get("partial_rotary_factor", found)
    return found if isinstance(found, (int, float)) else 1


def _order(size: int, heads: int, share: float) -> Tensor:
    """The rows of `heads` heads of `size` numbers, with those that are rotated together side by side."""
    import torch

    rows = torch.arange(heads * size).reshape(heads, size)
    rotated = int(size * share)
    pairs = rows[:, :rotated].reshape(heads, 2, rotated // 2).transpose(1, 2).reshape(heads, rotated)
    return torch.cat((pairs, rows[:, rotated:]), 1).flatten()
