"""Writes the weights of a model with an adapter merged into them, tensor by tensor."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from trainer.export.merge.adapter import Adapter
from trainer.export.merge.streamed import tensor_bytes
from trainer.export.merge.weights import make_header, read_header
from trainer.model import view


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
                for part in tensor_bytes(tensor, adapter.updates.get(tensor.name), tensor.dtype):
                    file.write(part)
                done += tensor.size
                on_progress(min(1.0, done / total))
            file.flush()
            os.fsync(file.fileno())
