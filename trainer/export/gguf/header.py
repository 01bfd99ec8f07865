"""The header of a GGUF file: its metadata, and where its tensors are.

Read with `struct` instead of the gguf package, whose reader takes 17 s and 1.2 GB for a vocabulary of 262,144
tokens. The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import mmap
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.protocol.failures import Failure

# Types of metadata values, as `struct` has them.
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
# As src/inference/gguf/gguf.ts.
MOST_ENTRIES = 1_000_000
MOST_ELEMENTS = 10_000_000
ALIGNMENT = 32
# What a part of a split file is called: its number and how many there are.
PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})(\.gguf)", re.IGNORECASE)
MOST_PARTS = 1_000


@dataclass(frozen=True)
class TensorEntry:
    """A tensor in the file at `path`: `shape` as numpy has it (the last dimension is contiguous), `type` as
    in `gguf.GGMLQuantizationType`, `offset` from the beginning of the file in bytes."""

    shape: tuple[int, ...]
    type: int
    offset: int
    path: Path


@dataclass(frozen=True)
class Header:
    """The header of the file at `path`, of several the first; the others have only tensors."""

    path: Path
    metadata: Mapping[str, object]
    tensors: dict[str, TensorEntry]

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the architecture."""
        return str(self.metadata.get("general.architecture", ""))

    def parameter(self, name: str, default: Any = None) -> Any:
        """A parameter of the architecture, such as `block_count`."""
        return self.metadata.get(f"{self.architecture}.{name}", default)

    def tokenizer(self, name: str, default: Any = None) -> Any:
        """A field of the tokenizer, such as `tokens`."""
        return self.metadata.get(f"tokenizer.ggml.{name}", default)


class _Reader:
    def __init__(self, data: mmap.mmap):
        self.data = data
        self.position = 0

    def scalar(self, code: str) -> Any:
        value = struct.unpack_from(f"<{code}", self.data, self.position)[0]
        self.position += struct.calcsize(code)
        return value

    def text(self) -> str:
        length = self.scalar("Q")
        end = self.position + length
        if end > len(self.data):
            raise ValueError("a text extends past its end")
        found = self.data[self.position : end]
        self.position = end
        # Tokens of byte-level vocabularies are UTF-8; a damaged name must not prevent reading the others.
        return found.decode("utf-8", "replace")

    def value(self, kind: int, nested: bool = False) -> Any:
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if kind == STRING:
            return self.text()
        if kind != ARRAY or nested:
            raise ValueError(f"it has a value of the unknown type {kind}")
        of, count = self.scalar("I"), self.scalar("Q")
        if count > MOST_ELEMENTS:
            raise ValueError(f"it has a list of {count} values")
        if of in SCALARS:
            values = struct.unpack_from(f"<{count}{SCALARS[of]}", self.data, self.position)
            self.position += count * struct.calcsize(SCALARS[of])
            return list(values)
        return [self.value(of, nested=True) for _ in range(count)]


def parts_of(path: Path) -> list[Path]:
    """All files of a split GGUF, by the name of one of them, as `llama-gguf-split` names them; of others only
    `path`. As `ggufParts` in src/contract/models/gguf-parts.ts."""
    match = PART.fullmatch(path.name)
    if match is None or not 1 <= int(match[2]) <= int(match[3]) <= MOST_PARTS:
        return [path]
    return [
        path.with_name(f"{match[1]}-{at:05}-of-{match[3]}{match[4]}") for at in range(1, int(match[3]) + 1)
    ]


def read_header(path: Path) -> Header:
    """The header of the GGUF at `path`, with the tensors of all its parts where that is the first of several.
    Failure `bad_model` when it is damaged, or none, or lacks a part."""
    first = _read(path)
    count = first.metadata.get("split.count", 1)
    if not isinstance(count, int) or count < 2:
        return first
    paths = parts_of(path)
    if len(paths) != count or path != paths[0]:
        raise _damaged(path, f"it has the name of another than the first of {count} parts")
    tensors = dict(first.tensors)
    for number, other in enumerate(paths[1:], 1):
        if not other.exists():
            raise _damaged(path, f"its part {other.name} is missing")
        part = _read(other)
        if part.metadata.get("split.no") != number or part.metadata.get("split.count") != count:
            raise _damaged(path, f"{other.name} is not its part {number + 1} of {count}")
        tensors |= part.tensors
    expected = first.metadata.get("split.tensors.count", len(tensors))
    if len(tensors) != expected:
        raise _damaged(path, f"its parts have {len(tensors)} tensors of {expected}")
    return Header(path, first.metadata, tensors)


def _damaged(path: Path, reason: object) -> Failure:
    return Failure(
        "bad_model",
        f"{path.name} is damaged or not a GGUF file: {reason}.",
        "Download it again, or choose another model.",
    )


def _read(path: Path) -> Header:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _parse(path, _Reader(data))
    except (OSError, ValueError, struct.error) as error:
        raise _damaged(path, error) from error


def _parse(path: Path, reader: _Reader) -> Header:
    if reader.data[:4] != b"GGUF":
        raise ValueError("it does not start with GGUF")
    reader.position = 4
    version = reader.scalar("I")
    if version not in (2, 3):
        raise ValueError(f"it has the unknown version {version}")
    tensor_count, entry_count = reader.scalar("Q"), reader.scalar("Q")
    if max(tensor_count, entry_count) > MOST_ENTRIES:
        raise ValueError(f"it claims {tensor_count} tensors and {entry_count} entries")
    metadata: dict[str, Any] = {}
    for _ in range(entry_count):
        key = reader.text()
        metadata[key] = reader.value(reader.scalar("I"))
    entries = {}
    for _ in range(tensor_count):
        name = reader.text()
        dimensions = reader.scalar("I")
        if not 1 <= dimensions <= 4:
            raise ValueError(f"{name[:64]} has {dimensions} dimensions")
        shape = tuple(reversed([reader.scalar("Q") for _ in range(dimensions)]))
        entries[name] = (shape, reader.scalar("I"), reader.scalar("Q"))
    alignment = metadata.get("general.alignment", ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError("its alignment is invalid")
    start = math.ceil(reader.position / alignment) * alignment
    tensors = {
        name: TensorEntry(shape, kind, start + offset, path)
        for name, (shape, kind, offset) in entries.items()
    }
    return Header(path, metadata, tensors)
