"""The metadata of a GGUF is written as gguf-py writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainer.export.gguf.convert import load_converter
from trainer.export.gguf.packing import pack_arrays_at_once
from trainer.tests import export_fixture


def written(path: Path, values: dict[str, Any], at_once: bool) -> bytes:
    """The file that gguf-py writes for these arrays."""
    gguf = load_converter(export_fixture.CONVERTER).base.gguf
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in values.items():
        writer.add_array(f"tests.{name}", value)
    # Entries of a given type are left to gguf-py.
    kinds = gguf.GGUFValueType
    writer.add_key_value("tests.bytes", [1, 2, 255], kinds.ARRAY, sub_type=kinds.UINT8)
    writer.add_token_types([gguf.TokenType.NORMAL, gguf.TokenType.CONTROL])
    if at_once:
        pack_arrays_at_once(writer)
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.close()
    return path.read_bytes()


def test_arrays_packed_at_once_are_the_same_bytes(tmp_path: Path) -> None:
    values = {
        "texts": ["", "a", "ü漢🚀", "Ġthe"],
        "mixed": ["a", b"\xff\x00", bytearray(b"c")],
        "integers": [0, -1, 2**31 - 1],
        "floats": [0.5, -1e30, float("inf")],
        "truths": [True, False, True],
        "nested": [[1, 2], [3]],
        "one": ("x",),
    }
    plain = written(tmp_path / "plain.gguf", values, at_once=False)
    assert written(tmp_path / "at-once.gguf", values, at_once=True) == plain


@pytest.mark.parametrize("value", [["a", 1], [1, 2.0], [True, 1]])
def test_arrays_of_several_types_are_refused(value: list[Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="same type"):
        written(tmp_path / "model.gguf", {"mixed": value}, at_once=True)
