"""How far the weights of a quantized tensor may be from the weights that were quantized.

A type stores blocks of weights as a scale, for some types an offset, and an integer with few levels for each
weight (llama.cpp: ggml/src/ggml-common.h for the layouts, ggml-quants.c for how they are chosen). What is
possible follows from a block's own weights: one step between two levels, plus what is lost where the scales
of a super-block are integers themselves. llama.cpp does not round to the nearest level of the widest scale
but looks for the scale with the smallest (weighted) square error, so single weights may be clipped; the root
mean square of a block's errors is what is bounded.

By an importance matrix it looks for the scale with the smallest error weighted by importance and magnitude,
and weighs the blocks of a super-block alike when it rounds their scales: columns without importance may be
far off. Rounding to the nearest is among what it tries, so then a super-block's weighted error is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Layout:
    """Blocks of `block` weights in super-blocks of `whole`. `step` is the distance of two levels as a share
    of the block's largest magnitude, or of its range if `offset`; `scales` what the super-block's rounding of
    scales and offsets costs, as a share of the super-block's largest."""

    block: int
    whole: int
    step: float
    scales: float
    offset: bool = False


# Steps: a symmetric type of n bits has levels from -2^(n-1) on, so its step is 1/2^(n-1); a type with an
# offset has 2^n levels over the range. IQ4's largest gap is 24 of 113 (kvalues_iq4nl). Scales: half a unit of
# an integer of 4 bits (Q2_K), 6 bits (Q3_K, Q4_K, Q5_K, IQ4_XS) or 8 bits (Q6_K), for scale and offset; of
# types without super-blocks half a unit in the last place of a 16-bit float.
HALF = 2.0**-11
LAYOUTS = {
    "Q8_0": Layout(32, 32, 1 / 127, HALF),
    "Q5_0": Layout(32, 32, 1 / 16, HALF),
    "Q5_1": Layout(32, 32, 1 / 31, 2 * HALF, offset=True),
    "Q4_0": Layout(32, 32, 1 / 8, HALF),
    "Q4_1": Layout(32, 32, 1 / 15, 2 * HALF, offset=True),
    "IQ4_NL": Layout(32, 32, 24 / 113, HALF),
    "Q6_K": Layout(16, 256, 1 / 32, 1 / 254),
    "Q5_K": Layout(32, 256, 1 / 31, 2 / 126, offset=True),
    "Q4_K": Layout(32, 256, 1 / 15, 2 / 126, offset=True),
    "Q3_K": Layout(16, 256, 1 / 4, 1 / 62),
    "Q2_K": Layout(16, 256, 1 / 3, 2 / 30, offset=True),
    "IQ4_XS": Layout(32, 256, 24 / 113, 1 / 62),
}


def block_limits(kind: str, weights: np.ndarray) -> np.ndarray:
    """The largest root mean square of errors of each block (count, 1) of `weights` (float32, a multiple of a
    super-block)."""
    import numpy as np

    layout = LAYOUTS[kind]

    def size(length: int) -> np.ndarray:
        parts = weights.reshape(-1, length)
        high, low = parts.max(1, initial=0.0), parts.min(1, initial=0.0)
        return high - low if layout.offset else np.maximum(high, -low)

    within = layout.whole // layout.block
    return layout.step * size(layout.block) + layout.scales * np.repeat(size(layout.whole), within)


def weighted(
    kind: str, weights: np.ndarray, errors: np.ndarray, limits: np.ndarray, importance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The root mean square of the `errors` of each super-block, weighted as llama.cpp weighs them, and its
    limit of those of its blocks. `weights`, `errors` and `importance` are (rows, columns).

    The weights are `qw[j] * sqrtf(sigma2 + x[j]*x[j])` in ggml-quants.c, and for Q6_K `qw[j]`.
    """
    import numpy as np

    layout = LAYOUTS[kind]
    squares = np.square(weights, dtype=np.float64).reshape(-1, layout.whole)
    if layout.whole == layout.block:
        mean = np.repeat(squares.reshape(len(weights), -1).mean(1), weights.shape[1] // layout.whole)
    else:
        mean = 2 * squares.mean(1)
    share = importance.astype(np.float64).reshape(-1, layout.whole)
    if kind != "Q6_K":
        share = share * np.sqrt(mean[:, None] + squares)
    share /= np.maximum(share.sum(1, keepdims=True), np.finfo(np.float64).tiny)
    found = (share * np.square(errors, dtype=np.float64).reshape(share.shape)).sum(1)
    each = np.repeat(np.square(limits, dtype=np.float64), layout.block).reshape(share.shape)
    return np.sqrt(found), np.sqrt((share * each).sum(1))
