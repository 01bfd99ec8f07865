"""Shows that a model folder is the model of a GGUF, by converting it back.

llama.cpp's converter writes the folder's metadata and the tensors of some of its layers again: of the last
and the first of each kind. What it writes must be what the GGUF has: then every parameter means the same to
both, and no tensor was permuted, shifted or lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from trainer.export.gguf import converter_input
from trainer.export.gguf.convert import convert
from trainer.export.gguf.header import Header, read_header
from trainer.export.merge import adapter as adapters
from trainer.export.merge import weights
from trainer.export.tokenizer.options import TokenizerOptions
from trainer.gguf_base.dequantize import read_tensor
from trainer.model.config import complete_config
from trainer.protocol.failures import Failure

# What llama.cpp assumes where a file says nothing (src/llama-model.cpp).
ASSUMED = {"rope.freq_base": 10_000.0, "rope.scaling.type": "none"}
# Parameters that say nothing of what is computed: sizes that follow from the tensors, and notes.
UNUSED = ("vocab_size", "rope.scaling.finetuned", "tensor_data_layout", "use_parallel_residual")
# Rounding to the 16 bits of the folder; a wrong value is off by more.
RELATIVE, ABSOLUTE = 2**-8, 1e-6


def prove(
    header: Header, folder: Path, converter: Path, scratch: Path, on_progress: Callable[[float], None]
) -> None:
    """Failure `bad_model`, with what differs, unless the model in `folder` converts back to the GGUF.
    `scratch` is an empty folder; `on_progress` gets 0…1 and may raise."""
    source = scratch / "converter-input"
    source.mkdir()
    converter_input.build(folder, source, None, complete_config(folder))
    result = scratch / "again.gguf"
    convert(
        converter_dir=converter,
        source=source,
        tensors=_some(weights.index_checkpoint(folder), _layers(header)),
        adapter=adapters.Adapter(),
        destination=result,
        quantization="F32",
        name="base",
        options=TokenizerOptions(),
        on_progress=lambda share: on_progress(share / 2),
    )
    again = read_header(result)
    differences = [*_parameters(header, again), *_tensors(header, again, on_progress)]
    result.unlink()
    if differences:
        raise Failure(
            "bad_model",
            f"Hone cannot make a model of {header.path.name} that is the same: {differences[0]}.",
            "Choose the model's safetensors files, or report this with the name of the file.",
            "\n".join(differences[:20]),
        )


def _layers(header: Header) -> set[str]:
    """The numbers of the last layer, and of the first of those with the same tensors of the same sizes."""
    count = header.parameter("block_count", 1)
    kinds: dict[str, list[tuple[str, tuple[int, ...]]]] = {str(number): [] for number in range(count)}
    for name, entry in header.tensors.items():
        if name.startswith("blk."):
            _, number, rest = name.split(".", 2)
            kinds.setdefault(number, []).append((rest, entry.shape))
    first: dict[tuple[tuple[str, tuple[int, ...]], ...], str] = {}
    for number, kind in kinds.items():
        first.setdefault(tuple(sorted(kind)), number)
    return {str(count - 1), *first.values()}


def _some(tensors: dict[str, weights.StoredTensor], numbers: set[str]) -> dict[str, weights.StoredTensor]:
    """The tensors of some layers, and those of no layer but the vocabulary's matrices."""
    found = {}
    for name, tensor in tensors.items():
        number = next((part for part in name.split(".") if part.isdigit()), None)
        if number in numbers or (number is None and len(tensor.shape) == 1):
            found[name] = tensor
    return found


def _parameters(header: Header, again: Header) -> list[str]:
    """The parameters that differ, in words."""
    prefix = f"{header.architecture}."
    if again.architecture != header.architecture:
        return [f"its architecture would be {again.architecture}"]
    theirs, ours = (
        {
            key.removeprefix(prefix): value
            for key, value in file.metadata.items()
            if key.startswith(prefix) and key.removeprefix(prefix) not in UNUSED
        }
        for file in (header, again)
    )
    return [
        f"{name} is {_shown(theirs.get(name, ASSUMED.get(name)))}, and would be {_shown(ours.get(name))}"
        for name in sorted({*theirs, *(name for name in ours if name in ASSUMED)})
        if not _same(theirs.get(name, ASSUMED.get(name)), ours.get(name, ASSUMED.get(name)))
    ]


def _same(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-5)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    # One number for all layers, or one for each.
    if isinstance(one, list):
        return all(_same(value, other) for value in one)
    if isinstance(other, list):
        return all(_same(value, one) for value in other)
    return one == other


def _shown(value: object) -> str:
    return "absent" if value is None else str(value)[:60]


def _tensors(header: Header, again: Header, on_progress: Callable[[float], None]) -> list[str]:
    """The tensors that differ, in words; `on_progress` gets ½…1."""
    import numpy as np

    found = []
    for done, (name, entry) in enumerate(again.tensors.items()):
        on_progress((1 + done / len(again.tensors)) / 2)
        wanted = header.tensors.get(name)
        if wanted is None:
            found.append(f"it has no {name}")
        elif math.prod(entry.shape) != math.prod(wanted.shape):
            found.append(f"{name} has the shape {list(wanted.shape)}, and would have {list(entry.shape)}")
        elif not np.allclose(
            read_tensor(again, name).ravel(), read_tensor(header, name).ravel(), rtol=RELATIVE, atol=ABSOLUTE
        ):
            found.append(f"{name} would have other values")
    layers = {name.split(".")[1] for name in again.tensors if name.startswith("blk.")}
    lost = [
        name
        for name in header.tensors
        if name not in again.tensors and name.startswith("blk.") and name.split(".")[1] in layers
    ]
    return found + [f"{name} would be missing" for name in lost]
