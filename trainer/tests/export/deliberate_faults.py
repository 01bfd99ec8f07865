"""GGUF files with deliberate faults, for the tests of the verification."""

from __future__ import annotations

import math
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from trainer.export import node_tools
from trainer.export.gguf import converter_input
from trainer.export.gguf.convert import convert
from trainer.export.gguf.header import read_header
from trainer.export.merge import adapter as adapters
from trainer.export.merge import weights
from trainer.export.tokenizer import options
from trainer.export.verification.exact import check_files
from trainer.model.config import complete_config
from trainer.tests import export_fixture


@dataclass
class Files:
    """A base and an adapter, and what is made of them in `folder`."""

    folder: Path
    base: Path
    adapter_dir: Path

    def __post_init__(self) -> None:
        self.tensors = weights.index_checkpoint(self.base)
        self.config = complete_config(self.base)
        self.adapter = self.read_adapter(self.adapter_dir)
        source = self.folder / "converter-input"
        source.mkdir(parents=True, exist_ok=True)
        converter_input.build(self.base, source, None, self.config)
        self.convert = partial(
            convert,
            converter_dir=export_fixture.CONVERTER,
            source=source,
            name="tiny",
            options=options.candidates(self.base)[0],
        )

    def read_adapter(self, directory: Path) -> adapters.Adapter:
        """The adapter in `directory`."""
        return adapters.load(directory, self.tensors, adapters.shares_embedding(self.config, self.tensors))

    def write(
        self,
        kind: str,
        name: str = "",
        adapter: adapters.Adapter | None = None,
        tensors: dict[str, weights.StoredTensor] | None = None,
    ) -> Path:
        """A file of a type that the converter writes, perhaps of another adapter or base."""
        path = self.folder / f"{name or kind}.gguf"
        self.convert(
            tensors=self.tensors if tensors is None else tensors,
            adapter=adapter or self.adapter,
            destination=path,
            quantization=kind,
            on_progress=lambda share: None,
        )
        return path

    def quantize(self, source: Path, kind: str) -> Path:
        """A file of a type that is quantized from `source`."""
        path = self.folder / f"{kind}.gguf"
        tool = export_fixture.TOOLS["quantize"]
        node_tools.quantize(tool, source, path, kind, lambda share: None, lambda: None)
        return path

    def wrong(self, files: dict[str, tuple[Path, str | None]]) -> dict[str, str | None]:
        """What the verification finds."""
        folder = self.folder
        return check_files(
            files,
            self.convert,
            self.tensors,
            self.adapter,
            self.adapter_dir,
            folder,
            lambda share: None,
        )


def edited(path: Path, name: str, tensor: str, change: Callable[[Any], Any]) -> Path:
    """A copy of a GGUF in which `change` was made to the bytes of a tensor, given as rows: float16 or float32
    for those types, else bytes."""
    import numpy as np
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    copy = path.with_name(f"{name}.gguf")
    shutil.copyfile(path, copy)
    place = read_header(copy).tensors[tensor]
    kind = GGMLQuantizationType(place.type)
    block, size = GGML_QUANT_SIZES[kind]
    length = math.prod(place.shape) // block * size
    with open(copy, "r+b") as file:
        file.seek(place.offset)
        data = np.frombuffer(file.read(length), np.uint8).copy()
        as_type = {"F16": np.float16, "F32": np.float32}.get(kind.name, np.uint8)
        rows = data.view(as_type).reshape(math.prod(place.shape[:-1]), -1)
        result = np.ascontiguousarray(change(rows.copy()))
        assert result.nbytes == length and not np.array_equal(result.view(np.uint8).reshape(-1), data), (
            "the fault changes something"
        )
        file.seek(place.offset)
        file.write(result.tobytes())
    return copy


def with_metadata(path: Path, name: str, key: str, code: str, value: Any) -> Path:
    """A copy of a GGUF in which a number (`code` as of `struct`) of the metadata has another value."""
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack("<Q", len(key)) + key.encode()) + 8 + len(key) + 4
    struct.pack_into(f"<{code}", data, at, value)
    copy = path.with_name(f"{name}.gguf")
    copy.write_bytes(data)
    return copy


def with_tokens_swapped(path: Path, name: str, first: int, second: int) -> Path:
    """A copy of a GGUF in which two tokens have each other's number."""
    data = path.read_bytes()
    key = b"tokenizer.ggml.tokens"
    at = start = data.index(key) + len(key) + 4 + 4 + 8
    count = struct.unpack_from("<Q", data, start - 8)[0]
    entries = []
    for _ in range(count):
        length = 8 + struct.unpack_from("<Q", data, at)[0]
        entries.append(data[at : at + length])
        at += length
    entries[first], entries[second] = entries[second], entries[first]
    copy = path.with_name(f"{name}.gguf")
    copy.write_bytes(data[:start] + b"".join(entries) + data[at:])
    return copy


def scaled(update: adapters.Update, factor: float) -> adapters.Update:
    """An update that counts `factor` times."""
    parts = [(replace(change, scale=factor * change.scale), part) for change, part in update.parts]
    return replace(update, parts=parts)


def faults(
    files: Files, right: Path, eight: Path, four: Path | None, other: Path
) -> dict[str, tuple[Path, str | None, str]]:
    """By name: a file with a fault, the type that it was quantized from if any, and what must be told of it.

    `right` is the F16 file of a Llama, `eight` that of Q8_0, `four` that of Q4_K_M, `other` another adapter.
    """
    import numpy as np

    heads = files.config["num_attention_heads"]
    width = files.config["hidden_size"] // heads
    header = read_header(right)
    made: dict[str, tuple[Path, str | None, str]] = {}

    def edit(name: str, tensor: str, change: Callable[[Any], Any], of: Path = right) -> None:
        made[name] = (edited(of, name, tensor, change), None, tensor)

    def swap_heads(rows: Any) -> Any:
        rows[:width], rows[width : 2 * width] = rows[width : 2 * width].copy(), rows[:width].copy()
        return rows

    def flip(rows: Any) -> Any:
        # The last bit of a large weight, which float32 arithmetic does not reach.
        rows.view(np.uint16).reshape(-1)[np.abs(rows).argmax()] ^= 1
        return rows

    def put(value: float) -> Callable[[Any], Any]:
        def change(rows: Any) -> Any:
            rows[0, 1] = value
            return rows

        return change

    def scale_block(rows: Any) -> Any:
        rows[1, :2].view(np.float16)[0] *= np.float16(1.1)
        return rows

    def raw(tensor: str) -> Any:
        place = header.tensors[tensor]
        count = math.prod(place.shape)
        return np.fromfile(right, np.float16, count, offset=place.offset).reshape(place.shape)

    def adapted(change: Callable[[str, adapters.Update], adapters.Update | None]) -> adapters.Adapter:
        updates = {name: change(name, update) for name, update in files.adapter.updates.items()}
        return adapters.Adapter({name: update for name, update in updates.items() if update is not None})

    def written(name: str, adapter: adapters.Adapter, told: str) -> None:
        made[name] = (files.write("F16", name, adapter), None, told)

    edit("a swapped head", "blk.0.attn_q.weight", swap_heads)
    edit("token numbers off by one", "token_embd.weight", lambda rows: np.roll(rows, 1, 0))
    edit("a zeroed norm", "blk.1.attn_norm.weight", np.zeros_like)
    edit("a transposed matrix", "blk.0.attn_output.weight", lambda rows: rows.T)
    edit("a flipped bit", "blk.1.ffn_down.weight", flip)
    edit("a weight that is not a number", "blk.0.ffn_up.weight", put(float("nan")))
    edit("an infinite weight", "blk.0.ffn_gate.weight", put(float("inf")))
    edit("a scale that is off", "blk.0.ffn_up.weight", scale_block, eight)
    first, second = raw("blk.0.ffn_up.weight"), raw("blk.1.ffn_up.weight")
    path = edited(right, "layers", "blk.0.ffn_up.weight", lambda _: second)
    path = edited(path, "two swapped layers", "blk.1.ffn_up.weight", lambda _: first)
    made["two swapped layers"] = (path, None, "blk.1.ffn_up.weight")
    if four is not None:
        lent = edited(four, "lent", "blk.0.attn_k.weight", lambda rows: np.roll(rows, 1, 0))
        made["rows in another order, in 4 bits"] = (lent, "F16", "blk.0.attn_k.weight")

    query = next(name for name in files.adapter.updates if name.endswith("layers.1.self_attn.q_proj.weight"))
    value = next(name for name in files.adapter.updates if name.endswith("layers.0.self_attn.v_proj.weight"))
    written("a scaled adapter", adapted(lambda name, update: scaled(update, 1.01)), "ffn_")
    written(
        "a missed layer",
        adapted(lambda name, update: None if name == query else update),
        "blk.1.attn_q.weight",
    )
    written(
        "a forgotten alpha",
        adapted(lambda name, update: scaled(update, 0.5) if name == value else update),
        "blk.0.attn_v.weight",
    )
    written("the adapter of another run", files.read_adapter(other), "ffn_")

    cut = files.folder / "cut.gguf"
    cut.write_bytes(right.read_bytes()[:-2000])
    made["a truncated tensor"] = (cut, None, "is cut off at the end of the file")
    tied = next((name for name in files.tensors if name.endswith("embed_tokens.weight")), None)
    if "lm_head.weight" in files.tensors and tied is not None:
        wrong = {**files.tensors, "lm_head.weight": files.tensors[tied]}
        made["a wrong tie"] = (files.write("F16", "tied", tensors=wrong), None, "output.weight")
    elif tied is not None:
        more = {**files.tensors, "lm_head.weight": replace(files.tensors[tied], name="lm_head.weight")}
        made["a wrong tie"] = (files.write("F16", "untied", tensors=more), None, "output.weight")
    less = {name: stored for name, stored in files.tensors.items() if "layers.1.mlp.up_proj" not in name}
    made["a missing tensor"] = (
        files.write("F16", "less", tensors=less),
        None,
        "blk.1.ffn_up.weight is missing",
    )

    for name, key, code, changed in (
        ("a wrong rope base", "llama.rope.freq_base", "f", 500.0),
        ("a wrong epsilon", "llama.attention.layer_norm_rms_epsilon", "f", 1e-3),
        ("a wrong number of heads", "llama.attention.head_count", "I", heads * 2),
        ("a wrong context", "llama.context_length", "I", 77),
        ("another end of text", "tokenizer.ggml.eos_token_id", "I", 7),
    ):
        made[name] = (with_metadata(right, name, key, code, changed), None, key)
    swapped = with_tokens_swapped(right, "swapped tokens", 1, 300)
    made["swapped token numbers"] = (swapped, None, "tokenizer.ggml.tokens[1]")
    return made
