"""Reads tensors of a GGUF as float32."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trainer.export.gguf.header import Header
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGMLQuantizationType


def read_tensor(header: Header, name: str, rows: range | None = None) -> np.ndarray:
    """A tensor, or rows of its first dimension, as a float32 array. Uses llama.cpp's own package `gguf`.

    Failure `bad_model` when the file ends before it, `unsupported` when its type cannot be dequantized.
    """
    import numpy as np
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize

    entry = header.tensors[name]
    try:
        kind = GGMLQuantizationType(entry.type)
        block, size = GGML_QUANT_SIZES[kind]
    except (ValueError, KeyError) as error:
        raise _refusal(name, str(entry.type)) from error
    row_bytes = entry.shape[-1] // block * size
    count = math.prod(entry.shape[:-1])
    start = 0
    shape = entry.shape
    if rows is not None:
        per_row = count // entry.shape[0]
        start, count = rows.start * per_row, len(rows) * per_row
        shape = (len(rows), *entry.shape[1:])
    try:
        with open(entry.path, "rb") as file:
            file.seek(entry.offset + start * row_bytes)
            data = np.fromfile(file, dtype=np.uint8, count=count * row_bytes)
        if data.size != count * row_bytes:
            raise ValueError("the file ends too early")
    except (OSError, ValueError) as error:
        raise Failure(
            "bad_model", f"{entry.path.name} ends inside {name}.", "Download it again.", str(error)
        ) from error
    try:
        return _as_stored(data, kind).reshape(shape)
    except NotImplementedError:
        pass
    try:
        return dequantize(data.reshape(count, row_bytes), kind).reshape(shape)
    except NotImplementedError as error:
        raise _refusal(name, kind.name) from error


def _as_stored(data: np.ndarray, kind: GGMLQuantizationType) -> np.ndarray:
    """Unquantized types as float32; NotImplementedError for others."""
    import numpy as np

    if kind.name == "F32":
        return data.view(np.float32)
    if kind.name == "F16":
        return data.view(np.float16).astype(np.float32)
    raise NotImplementedError


def _refusal(name: str, kind: str) -> Failure:
    return Failure(
        "unsupported",
        f"{name} of this GGUF has the type {kind}, which cannot be dequantized here.",
        "Choose a file of another type (Q4_K_M, Q8_0, F16, …), or the model's safetensors files.",
    )
