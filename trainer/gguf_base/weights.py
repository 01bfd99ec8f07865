"""Writes the tensors of a GGUF as one safetensors file, one after another."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export.gguf.header import Header
from trainer.gguf_base.dequantize import read_tensor
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    import numpy as np

# Values of a large matrix that are dequantized at a time, 16 MiB of them.
CHUNK = 1 << 22
# How a tensor is stored, by its type in the GGUF (`gguf.GGMLQuantizationType`). F16 keeps three bits more of
# a dequantized value than BF16; MXFP4 has the range of BF16.
F32, F16, BF16, MXFP4 = 0, 1, 30, 39
STORED = {F32: "F32", BF16: "BF16", MXFP4: "BF16"}
BYTES = {"F32": 4, "F16": 2, "BF16": 2}
TORCH = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
# Tensors that the configuration has, and not the model.
IN_CONFIGURATION = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")


def stored_bytes(header: Header) -> int:
    """What `write_weights` writes, in bytes."""
    return sum(math.prod(place.shape) * BYTES[_stored(place.type)] for place in header.tensors.values())


def _stored(kind: int) -> str:
    return STORED.get(kind, "F16")


def write_weights(
    header: Header, config: Mapping[str, object], destination: Path, on_progress: Callable[[float], None]
) -> None:
    """Writes `destination` with the weights of the model of `config`, named as transformers names them.

    Failure `bad_model` when the file lacks tensors of the model, or has others. `on_progress` gets 0…1 after
    every chunk and may raise.
    """
    plan = _plan(header, config)
    total = sum(math.prod(shape) for shape, *_ in plan.values())
    offset, table = 0, {}
    for name, (shape, kind, *_) in plan.items():
        size = math.prod(shape) * BYTES[kind]
        table[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps({"__metadata__": {"format": "pt"}, **table}).encode()
    head += b" " * (-len(head) % 8)
    done = 0
    with open(destination, "wb") as file:
        file.write(len(head).to_bytes(8, "little"))
        file.write(head)
        for name, (shape, kind, source, process) in plan.items():
            for part in _parts(header, source, process):
                if part.shape[1:] != shape[1:] or part.ndim != len(shape):
                    raise _misshaped(header, source, part.shape, shape)
                file.write(_as_bytes(part, kind, name))
                done += part.size
                on_progress(min(1.0, done / total))
        file.flush()
        os.fsync(file.fileno())


def _plan(
    header: Header, config: Mapping[str, object]
) -> dict[str, tuple[tuple[int, ...], str, str, Callable[[np.ndarray], np.ndarray] | None]]:
    """For each of the model's tensors: shape, type, the GGUF's tensor, and how it is rearranged."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        TensorProcessor,
        get_gguf_hf_weights_map,
    )

    values = {name: value for name, value in config.items() if name != "model_type"}
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **values))
    processor = TENSOR_PROCESSORS.get(header.architecture, TensorProcessor)(config=config)
    names = get_gguf_hf_weights_map(model, processor)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    tied = (
        set(getattr(model, "all_tied_weights_keys", None) or ()) if config["tie_word_embeddings"] else set()
    )

    plan: dict[str, tuple[tuple[int, ...], str, str, Callable[[np.ndarray], np.ndarray] | None]] = {}
    surplus = []
    for source, place in header.tensors.items():
        if source in IN_CONFIGURATION:
            continue
        target = "lm_head.weight" if source == "output.weight" else names.get(source)
        if target not in shapes:
            surplus.append(source)
            continue

        def process(weights: np.ndarray, source: str = source) -> np.ndarray:
            into: dict[str, dict[str, object]] = {"tensors": {}}
            result = processor.process(
                weights=weights, name=source, tensor_key_mapping=names, parsed_parameters=into
            )
            return result.weights

        plan[target] = (shapes[target], _stored(place.type), source, process)
    missing = sorted(set(shapes) - set(plan) - tied)
    if surplus or missing:
        what = [f"has {', '.join(surplus[:3])}, which the model does not"] if surplus else []
        what += [f"lacks {', '.join(missing[:3])}"] if missing else []
        raise Failure(
            "bad_model",
            f"{header.path.name} is not the whole model of its architecture: it {' and it '.join(what)}.",
            "Choose another file of this model, or its safetensors files.",
            f"{len(surplus)} tensors too many, {len(missing)} missing",
        )
    return plan


def _parts(
    header: Header, source: str, process: Callable[[np.ndarray], np.ndarray] | None
) -> Iterator[np.ndarray]:
    """A tensor in chunks of rows; rearranged ones whole."""
    place = header.tensors[source]
    if source in ("token_embd.weight", "output.weight"):
        rows, step = place.shape[0], max(1, CHUNK // math.prod(place.shape[1:]))
        for start in range(0, rows, step):
            yield read_tensor(header, source, range(start, min(start + step, rows)))
        return
    weights = read_tensor(header, source)
    yield weights if process is None else process(weights)


def _as_bytes(values: np.ndarray, kind: str, name: str) -> bytes:
    import numpy as np
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    stored = tensor.to(getattr(torch, TORCH[kind]))
    if kind == "F16" and not torch.isfinite(stored).all():
        raise Failure(
            "bad_model",
            f"{name} of this GGUF has values that 16 bits cannot hold, or that are no numbers.",
            "Choose another file of this model, or its safetensors files.",
        )
    return stored.view(torch.uint8).numpy().tobytes()


def _misshaped(header: Header, source: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> Failure:
    return Failure(
        "bad_model",
        f"{source} of {header.path.name} has the shape {list(found)}, and the model needs {list(wanted)}.",
        "Choose another file of this model, or its safetensors files.",
    )
