"""Writes the weights of a model with an adapter merged into them, tensor by tensor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export.merge.adapter import Adapter
from trainer.export.merge.weights import CHUNK_BYTES, TORCH_NAMES, StoredTensor, make_header, read_header
from trainer.model import view
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.export.merge.update import Update


def files_of(base: Path) -> list[str]:
    """The names of the weight files of the model in `base`."""
    return view.weight_files(base) or [view.WEIGHTS]


def write_weights(base: Path, adapter: Adapter, folder: Path, on_progress: Callable[[float], None]) -> None:
    """Writes the weight files of the model in `base` into `folder`, under their names, with the adapter
    merged: computed in float32 and rounded once to the type that the base has.

    Takes the memory of the largest tensor. `on_progress` gets 0…1 after every tensor and may raise. Failure
    `bad_model` for values that are no numbers, or that the type cannot hold.
    """
    names = files_of(base)
    total = sum((base / name).stat().st_size for name in names)
    done = 0
    for name in names:
        tensors = sorted(read_header(base / name).values(), key=lambda tensor: tensor.offset)
        with open(folder / name, "wb") as file:
            file.write(
                make_header((tensor.name, tensor.dtype, tensor.shape, tensor.size) for tensor in tensors)
            )
            for tensor in tensors:
                update = adapter.updates.get(tensor.name)
                for part in _as_stored(tensor) if update is None else [_merged(tensor, update)]:
                    file.write(part)
                done += tensor.size
                on_progress(min(1.0, done / total))
            file.flush()
            os.fsync(file.fileno())


def _as_stored(tensor: StoredTensor) -> Iterator[bytes]:
    """The bytes of a tensor that nothing changes."""
    with open(tensor.file, "rb", buffering=0) as file:
        file.seek(tensor.offset)
        left = tensor.size
        while left > 0:
            part = file.read(min(CHUNK_BYTES, left))
            if not part:
                raise Failure("bad_model", f"{tensor.file.name} ends inside {tensor.name}.")
            left -= len(part)
            yield part


def _merged(tensor: StoredTensor, update: Update) -> memoryview:
    import torch

    stored = update.apply(tensor.read()).to(getattr(torch, TORCH_NAMES[tensor.dtype])).contiguous()
    if not torch.isfinite(stored).all():
        raise Failure(
            "bad_model",
            f"With the adapter, {tensor.name} has values that are no numbers, or that its type cannot hold.",
            "Choose another adapter, or the base that it was trained on.",
        )
    return stored.view(-1).view(torch.uint8).numpy().data
