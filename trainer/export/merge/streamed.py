"""The bytes of merged tensors, as a safetensors file has them, one tensor in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainer.export.merge.weights import CHUNK_BYTES, TORCH_NAMES, StoredTensor
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.export.merge.update import Update

ADVICE = "Choose another adapter, or the base that it was trained on."


def tensor_bytes(
    tensor: StoredTensor, update: Update | None, dtype: str, advice: str = ADVICE
) -> Iterator[bytes | memoryview]:
    """A tensor of the base with its `update`, if it has one: computed in float32, and rounded once to `dtype`
    (as in DTYPE_BYTES). What neither changes comes in chunks, as it is stored.

    Failure `bad_model` with this `advice` for values that are no numbers, or that the type cannot hold.
    """
    if update is None and tensor.dtype == dtype:
        return _as_stored(tensor)
    return iter((_rounded(tensor, update, dtype, advice),))


def _as_stored(tensor: StoredTensor) -> Iterator[bytes]:
    with open(tensor.file, "rb", buffering=0) as file:
        file.seek(tensor.offset)
        left = tensor.size
        while left > 0:
            part = file.read(min(CHUNK_BYTES, left))
            if not part:
                raise Failure("bad_model", f"{tensor.file.name} ends inside {tensor.name}.")
            left -= len(part)
            yield part


def _rounded(tensor: StoredTensor, update: Update | None, dtype: str, advice: str) -> memoryview:
    import torch

    value = tensor.read() if update is None else update.apply(tensor.read())
    stored = value.to(getattr(torch, TORCH_NAMES[dtype])).contiguous()
    if not torch.isfinite(stored).all():
        after = "" if update is None else "With the adapter, "
        raise Failure(
            "bad_model",
            f"{after}{tensor.name} has values that are no numbers, or that its type cannot hold.",
            advice,
        )
    return stored.view(-1).view(torch.uint8).numpy().data
