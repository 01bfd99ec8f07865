"""Packs the arrays of a GGUF file's metadata as a whole.

gguf-py packs every entry by itself, which takes a second for the tokens, types and merges of 150,000 tokens.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trainer.libraries.gguf import replace_packing

if TYPE_CHECKING:
    from gguf import GGUFValueType, GGUFWriter


def pack_arrays_at_once(writer: GGUFWriter) -> None:
    """Makes `writer`, a GGUFWriter, pack arrays of texts and of numbers at once. The bytes stay the same."""

    def packing(one_by_one: Callable[..., bytes]) -> Callable[..., bytes]:
        def pack(
            value: Any, kind: GGUFValueType, add_vtype: bool, sub_type: GGUFValueType | None = None
        ) -> bytes:
            entries = _entries(value) if kind.name == "ARRAY" and sub_type is None else None
            if entries is None or writer.endianess.name != "LITTLE":
                return one_by_one(value, kind, add_vtype, sub_type)
            # The beginning of an array of one, and the number of entries instead of 1.
            head = one_by_one(value[:1], kind, add_vtype)[: 8 if add_vtype else 4]
            return head + struct.pack("<Q", len(value)) + entries

        return pack

    replace_packing(writer, packing)


def _entries(value: object) -> bytes | None:
    """The entries of an array as bytes; None where they are not all texts, all integers or all floats."""
    if not isinstance(value, Sequence) or not value or isinstance(value, (str, bytes, bytearray)):
        return None
    types = set(map(type, value))

    def all_are(*kinds: type) -> bool:
        return all(issubclass(found, kinds) for found in types)

    if all_are(str, bytes, bytearray):
        encoded = [text.encode("utf-8") if isinstance(text, str) else text for text in value]
        sizes = struct.pack(f"<{len(encoded)}Q", *map(len, encoded))
        return b"".join(
            part for at, text in enumerate(encoded) for part in (sizes[8 * at : 8 * at + 8], text)
        )
    if all_are(int) and bool not in types:
        return struct.pack(f"<{len(value)}i", *value)
    return struct.pack(f"<{len(value)}f", *value) if all_are(float) else None
