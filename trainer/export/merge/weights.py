"""Reads single tensors of a safetensors checkpoint without memory mapping.

Mapped pages count as resident memory until the kernel reclaims them. Reading into a buffer that is freed
keeps the peak at one tensor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from torch import Tensor

# Bytes of one read: large enough for a disk's full speed, small compared with a weight matrix.
CHUNK_BYTES = 16 << 20
# The limit of the reference implementation of safetensors.
MAX_HEADER_BYTES = 100_000_000

AGAIN = "Download the model again: delete it from the hub cache, or replace the file in its folder."

DTYPE_BYTES = {
    "F64": 8,
    "F32": 4,
    "BF16": 2,
    "F16": 2,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
}
TORCH_NAMES = {
    "F64": "float64",
    "F32": "float32",
    "BF16": "bfloat16",
    "F16": "float16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
FLOATING = ("F64", "F32", "BF16", "F16")


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file, at `offset` with `size` bytes."""

    name: str
    file: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int

    @property
    def floating(self) -> bool:
        """Whether it is of a floating type, which is read as float32."""
        return self.dtype in FLOATING

    def read(self, rows: range | None = None) -> Tensor:
        """The tensor, or the given rows of it: float32 for floating types, otherwise its own type."""
        import torch

        stored = getattr(torch, TORCH_NAMES[self.dtype])
        width = DTYPE_BYTES[self.dtype]
        shape, start, size = self.shape, self.offset, self.size
        if rows is not None:
            row = self.size // self.shape[0]
            shape = (len(rows), *self.shape[1:])
            start, size = self.offset + rows.start * row, len(rows) * row
        out = torch.empty(shape, dtype=torch.float32 if self.floating else stored)
        flat = out.view(-1)
        done = 0
        with open(self.file, "rb", buffering=0) as handle:
            handle.seek(start)
            buffer = bytearray(min(CHUNK_BYTES, size))
            while done < size:
                view = memoryview(buffer)[: min(len(buffer), size - done)]
                filled = 0
                while filled < len(view):
                    got = handle.readinto(view[filled:])
                    if not got:
                        raise Failure("bad_model", f"{self.file.name} ends inside {self.name}.", AGAIN)
                    filled += got
                part = torch.frombuffer(view, dtype=stored)
                flat[done // width : (done + len(view)) // width] = part
                done += len(view)
        return out


def read_header(file: Path) -> dict[str, StoredTensor]:
    """The tensors of one safetensors file. Raises `Failure` (bad_model) when the file is damaged."""
    total = file.stat().st_size
    with open(file, "rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        if total < 8 or length > min(MAX_HEADER_BYTES, total - 8):
            raise Failure("bad_model", f"{file.name} is not a complete safetensors file.", AGAIN)
        try:
            header = json.loads(handle.read(length))
        except ValueError as error:
            raise Failure("bad_model", f"{file.name} has a damaged header: {error}.", AGAIN) from error
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        shape = tuple(entry["shape"])
        elements = 1
        for side in shape:
            elements *= side
        dtype = entry["dtype"]
        if dtype not in DTYPE_BYTES:
            raise Failure(
                "unsupported",
                f"{name} has the type {dtype}, which is quantized, so an adapter cannot be merged into it.",
                "Use the 16-bit or 32-bit version of this model.",
            )
        if not 0 <= start <= end <= total - 8 - length or end - start != elements * DTYPE_BYTES[dtype]:
            raise Failure("bad_model", f"{file.name} is damaged: {name} lies outside the file.", AGAIN)
        tensors[name] = StoredTensor(name, file, dtype, shape, 8 + length + start, end - start)
    return tensors


def make_header(tensors: Iterable[tuple[str, str, Sequence[int], int]], room: int = 0) -> bytes:
    """The beginning of a safetensors file of these tensors, one after another: name, type (as in
    DTYPE_BYTES), shape and bytes of each. It takes `room` bytes if that is given."""
    table: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, dtype, shape, size in tensors:
        table[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps(table).encode()
    head += b" " * (max(0, room - 8 - len(head)) if room else -len(head) % 8)
    return len(head).to_bytes(8, "little") + head


def index_checkpoint(directory: Path) -> dict[str, StoredTensor]:
    """All tensors of a model directory, by name, in the order of its files.

    Raises `Failure` (bad_model) when a shard is missing or there is no safetensors file.
    """
    index = directory / "model.safetensors.index.json"
    promised: set[str] = set()
    if index.is_file():
        weight_map: dict[str, str] = json.loads(index.read_text("utf-8"))["weight_map"]
        promised = set(weight_map)
        files = [directory / name for name in sorted(set(weight_map.values()))]
    else:
        files = sorted(directory.glob("model*.safetensors"))
    if not files:
        raise Failure(
            "bad_model",
            f"{directory} holds no model.safetensors.",
            "Use a model that is published as safetensors; Hone does not open pickle files.",
        )
    tensors: dict[str, StoredTensor] = {}
    for file in files:
        if not file.is_file():
            raise Failure("bad_model", f"The shard {file.name} is missing from {directory}.", AGAIN)
        tensors.update(read_header(file))
    missing = sorted(promised - set(tensors))
    if missing:
        raise Failure(
            "bad_model",
            f"{len(missing)} tensors of the index are in no shard, for example {missing[0]}.",
            AGAIN,
        )
    return tensors
