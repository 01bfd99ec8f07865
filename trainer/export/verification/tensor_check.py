"""Compares one tensor of a GGUF with the float32 tensor that it must be."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from trainer.export.gguf.header import Header
from trainer.export.verification.block_error import LAYOUTS, block_limits, weighted

if TYPE_CHECKING:
    import numpy as np

# What float32 arithmetic may lose in a weight: a share of it, and an absolute part.
Slack = tuple[float, float]
# Weights that are compared at a time: 16 MiB of float32.
CHUNK = 1 << 22
# Of all errors of a quantized tensor: rounding to the nearest of evenly spaced levels has step/√12. The
# types' search for scales stays below; a tensor that is another one is at 4 (Q2_K) to 400 (Q8_0) times that.
WHOLE = 1.5 / math.sqrt(12)
# Rounding of the 16-bit file that a type is made from, relative: half a unit in the last entry.
INTERMEDIATE = {"F16": 2.0**-11, "BF16": 2.0**-8}


def difference(
    header: Header,
    name: str,
    expected: Callable[[int, int], np.ndarray],
    slack: Slack,
    source: str | None,
    importance: np.ndarray | None = None,
) -> str | None:
    """What is wrong with a tensor, as the end of a sentence; None if nothing is.

    `expected(start, end)` are rows of what it must be (float32, last dimension kept). `slack` is zero for a
    tensor that is only copied. `source` is the type of the file that it was quantized from, if any, and
    `importance` that of its columns (experts, columns) by which it was.
    """
    import numpy as np
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize

    entry = header.tensors[name]
    kind = GGMLQuantizationType(entry.type)
    block, block_bytes = GGML_QUANT_SIZES[kind]
    columns, rows = entry.shape[-1], math.prod(entry.shape[:-1])
    row_bytes = columns // block * block_bytes
    step = max(1, CHUNK // columns)
    squares = allowed = 0.0
    with open(header.path, "rb") as file:
        file.seek(entry.offset)
        for start in range(0, rows, step):
            end = min(rows, start + step)
            stored = np.fromfile(file, np.uint8, (end - start) * row_bytes)
            if stored.size < (end - start) * row_bytes:
                return "is cut off at the end of the file"
            wanted = expected(start, end)
            if kind.name in ROUNDED:
                wrong = wrong_bits(stored, wanted, kind.name, slack)
                if wrong is not None:
                    return _weight(wrong, start, wanted)
                continue
            found = dequantize(stored.reshape(end - start, row_bytes), kind).reshape(-1)
            flat = wanted.reshape(-1)
            if not np.isfinite(found).all():
                return _weight((int(np.argmin(np.isfinite(found))), "is not finite"), start, wanted)
            error = found - flat
            share = slack[0] + INTERMEDIATE.get(source or "", 0.0)
            lost = slack[1] + share * float(np.abs(flat).max(initial=0.0))
            if kind.name not in LAYOUTS:
                squares += float(np.square(error, dtype=np.float64).sum())
                allowed += float(np.square(flat, dtype=np.float64).sum()) / 2
                continue
            layout = LAYOUTS[kind.name]
            limits = block_limits(kind.name, flat) + lost
            roots, size = np.sqrt(np.square(error).reshape(-1, layout.block).mean(1)), layout.block
            # Q8_0, which some tensors of small files have, takes no importance.
            if importance is not None and kind.name != "Q8_0":
                at = np.arange(start, end) * len(importance) // rows
                roots, limits = weighted(
                    kind.name, wanted.reshape(-1, columns), error, limits, importance[at]
                )
                size = layout.whole
            worst = int(np.argmax(roots - limits))
            if roots[worst] > limits[worst]:
                about = f"is off by {roots[worst]:.3g} in a block of {size}"
                reason = f"{about}, where {kind.name} loses at most {limits[worst]:.3g}"
                return _weight((worst * size, reason), start, wanted)
            squares += float(np.square(roots, dtype=np.float64).sum()) * size
            allowed += float(np.square(limits, dtype=np.float64).sum()) * size
    if (squares > WHOLE**2 * allowed and kind.name in LAYOUTS) or squares > allowed > 0:
        count = rows * columns
        return (
            f"is off by {math.sqrt(squares / count):.3g} on average, where {kind.name} loses at most "
            f"{WHOLE * math.sqrt(allowed / count):.3g}"
        )
    return None


def _weight(wrong: tuple[int, str], start: int, wanted: np.ndarray) -> str:
    """Names the weight at a flat index of rows that begin with `start`."""
    index, reason = wrong
    row, column = divmod(index, wanted.shape[-1])
    return f"[{start + row}, {column}] {reason}"


def wrong_bits(stored: np.ndarray, wanted: np.ndarray, kind: str, slack: Slack) -> tuple[int, str] | None:
    """The first weight that is not the `wanted` one rounded to `kind`, within `slack`: its index, and what is
    wrong with it. `stored` are bytes, `kind` is one of ROUNDED."""
    import numpy as np

    bits, as_floats = ROUNDED[kind]
    flat = np.ascontiguousarray(wanted, np.float32).reshape(-1)
    right = bits(flat)
    different = np.flatnonzero(stored.view(right.dtype) != right)
    if different.size == 0:
        return None
    found = as_floats(stored.view(right.dtype)[different])
    lost = (slack[0] * np.abs(flat[different]) + slack[1]).astype(np.float32)
    low, high = (as_floats(bits(flat[different] + sign * lost)) for sign in (-1, 1))
    outside = ~((found >= low) & (found <= high))
    # 0 and -0 are one number.
    outside &= ~((found == 0) & (flat[different] == 0))
    if not outside.any():
        return None
    first = int(np.argmax(outside))
    index = int(different[first])
    return index, f"is {found[first]:.9g}, not {as_floats(right[index : index + 1])[0]:.9g}"


def _bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 as the bits of bfloat16, to the nearest, of two the even one."""
    import numpy as np

    bits = values.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), bits >> 16 | 64, rounded).astype(np.uint16)


def _half(values: np.ndarray) -> np.ndarray:
    import numpy as np

    with np.errstate(over="ignore"):
        return values.astype(np.float16).view(np.uint16)


def _floats(kind: str) -> Callable[[np.ndarray], np.ndarray]:
    import numpy as np

    return {
        "F32": lambda bits: bits.view(np.float32),
        "F16": lambda bits: bits.view(np.float16).astype(np.float32),
        "BF16": lambda bits: (bits.astype(np.uint32) << 16).view(np.float32),
    }[kind]


def _single(values: np.ndarray) -> np.ndarray:
    import numpy as np

    return values.view(np.uint32)


def _as_floats(kind: str, stored: np.ndarray) -> np.ndarray:
    return _floats(kind)(stored)


# By type: float32 to the bits of the type, and back.
ROUNDED: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
    kind: (bits, partial(_as_floats, kind))
    for kind, bits in (("F32", _single), ("F16", _half), ("BF16", _bfloat16))
}
