"""Writes merged weights in 16 bits, in safetensors files of a limited size."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trainer.export.merge.adapter import Adapter
from trainer.export.merge.streamed import tensor_bytes
from trainer.export.merge.weights import DTYPE_BYTES, StoredTensor, make_header
from trainer.model import view

# The largest file, as of transformers' `save_pretrained`; a tensor that is larger has a file of its own.
SHARD_BYTES = 5_000_000_000
WIDE = ("F32", "F64")
ADVICE = "Export a GGUF type instead, or train again with a lower learning rate."


def stored_types(base: Mapping[str, StoredTensor]) -> dict[str, str]:
    """The type that each tensor of the base gets: its own if most of the weights have 16 bits, also where a
    few, such as a router's, have 32. Of a base in 32 bits, bfloat16, which has float32's range."""
    weights: Counter[str] = Counter()
    for tensor in base.values():
        if tensor.floating:
            weights[tensor.dtype] += math.prod(tensor.shape)
    is_wide = bool(weights) and weights.most_common(1)[0][0] in WIDE
    return {
        name: "BF16" if is_wide and tensor.dtype in WIDE else tensor.dtype for name, tensor in base.items()
    }


def main_type(types: Mapping[str, str], base: Mapping[str, StoredTensor]) -> str:
    """The type of most weights, by torch's name."""
    weights: Counter[str] = Counter()
    for name, dtype in types.items():
        weights[dtype] += math.prod(base[name].shape)
    return "float16" if weights["F16"] > weights["BF16"] else "bfloat16"


def bytes_of(tensor: StoredTensor, dtype: str) -> int:
    """The size of a tensor in this type."""
    return math.prod(tensor.shape) * DTYPE_BYTES[dtype]


def write_weights(
    tensors: Mapping[str, StoredTensor],
    adapter: Adapter,
    types: Mapping[str, str],
    folder: Path,
    on_progress: Callable[[float], None],
    most: int = SHARD_BYTES,
) -> None:
    """Writes `tensors` with the adapter merged, each rounded once to its type, into files of `folder` of at
    most `most` bytes, with the index if there are several.

    Takes the memory of the largest tensor. `on_progress` gets 0…1 after every tensor and may raise. Failure
    `bad_model` for values that a type cannot hold.
    """
    sizes = {name: bytes_of(tensor, types[name]) for name, tensor in tensors.items()}
    shards = _shards(sizes, most)
    total, done = sum(sizes.values()), 0
    weight_map: dict[str, str] = {}
    for number, names in enumerate(shards, 1):
        file_name = view.WEIGHTS if len(shards) == 1 else f"model-{number:05}-of-{len(shards):05}.safetensors"
        with open(folder / file_name, "wb") as file:
            file.write(make_header((name, types[name], tensors[name].shape, sizes[name]) for name in names))
            for name in names:
                for part in tensor_bytes(tensors[name], adapter.updates.get(name), types[name], ADVICE):
                    file.write(part)
                done += sizes[name]
                on_progress(done / max(1, total))
            file.flush()
            os.fsync(file.fileno())
        weight_map.update(dict.fromkeys(names, file_name))
    if len(shards) > 1:
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        (folder / view.INDEX).write_text(json.dumps(index, indent=2), "utf-8")


def _shards(sizes: Mapping[str, int], most: int) -> Sequence[Sequence[str]]:
    """The names in their order, divided so that no file but that of a single tensor is larger than `most`."""
    shards: list[list[str]] = [[]]
    filled = 0
    for name, size in sizes.items():
        if shards[-1] and filled + size > most:
            shards.append([])
            filled = 0
        shards[-1].append(name)
        filled += size
    return shards
