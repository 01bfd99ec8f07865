"""Writes the tensors of a GGUF as one safetensors file, one after another."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.export.gguf.header import Header
from trainer.export.merge.weights import make_header
from trainer.gguf_base.arrangements import Made, falcon_groups, named, of_experts
from trainer.libraries.transformers import gguf_names, gguf_processors, tied_weights
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    import numpy as np

# How a tensor is stored, by its type in the GGUF (`gguf.GGMLQuantizationType`). F16 keeps three bits more of
# a dequantized value than BF16; MXFP4 has the range of BF16.
F32, F16, BF16, MXFP4 = 0, 1, 30, 39
STORED = {F32: "F32", BF16: "BF16", MXFP4: "BF16"}
BYTES = {"F32": 4, "F16": 2, "BF16": 2}
TORCH = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
# Tensors that the configuration has, and not the model.
IN_CONFIGURATION = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")


def stored_bytes(header: Header, plan: Mapping[str, Made]) -> int:
    """What `write_weights` writes, in bytes."""
    return sum(math.prod(made.shape) * BYTES[_stored_of(header, made)] for made in plan.values())


def _stored(kind: int) -> str:
    return STORED.get(kind, "F16")


def write_weights(
    header: Header, plan: Mapping[str, Made], destination: Path, on_progress: Callable[[float], None]
) -> None:
    """Writes `destination` with the tensors of `plan` (`plan_weights`).

    Failure `bad_model` when a tensor has another shape. `on_progress` gets 0…1 after every chunk and may
    raise.
    """
    kinds = {name: _stored_of(header, made) for name, made in plan.items()}
    total = sum(math.prod(made.shape) for made in plan.values())
    head = make_header(
        (name, kinds[name], made.shape, math.prod(made.shape) * BYTES[kinds[name]])
        for name, made in plan.items()
    )
    done = 0
    with open(destination, "wb") as file:
        file.write(head)
        for name, made in plan.items():
            rows = 0
            for part in made.parts():
                rows += part.shape[0] if part.ndim else 0
                if part.shape[1:] != made.shape[1:] or part.ndim != len(made.shape):
                    raise _misshaped(header, made.sources[0], part.shape, made.shape)
                file.write(_as_bytes(part, kinds[name], name))
                done += part.size
                on_progress(min(1.0, done / total))
            if rows != made.shape[0]:
                raise _misshaped(header, made.sources[0], (rows, *made.shape[1:]), made.shape)
        file.flush()
        os.fsync(file.fileno())


def _stored_of(header: Header, made: Made) -> str:
    """How a tensor is stored that is made of those of several types."""
    kinds = {_stored(header.tensors[source].type) for source in made.sources}
    return kinds.pop() if len(kinds) == 1 else "F32"


def plan_weights(header: Header, config: Mapping[str, object]) -> dict[str, Made]:
    """What the tensors of the model of `config` are made of, by the names that transformers gives them.
    Failure `bad_model` when the file lacks tensors of the model, or has others."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    values = {name: value for name, value in config.items() if name != "model_type"}
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **values))
    processor = _processor(header, config)
    names = gguf_names(model, processor, header.architecture)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    tied = tied_weights(model) if config["tie_word_embeddings"] else set()

    plan = of_experts(header, shapes)
    used = {source for made in plan.values() for source in made.sources}
    surplus = []
    for source in header.tensors:
        if source in IN_CONFIGURATION or source in used:
            continue
        target = "lm_head.weight" if source == "output.weight" else names.get(source)
        # Parameters that are no module's weight have no suffix in a checkpoint.
        target = target or names.get(source.removesuffix(".weight"))
        target = target or _scale_of(source)
        if target is None or target not in shapes:
            surplus.append(source)
            continue
        is_plain = type(processor) is gguf_processors()[0] or source in ("token_embd.weight", "output.weight")
        process = None if is_plain else partial(_processed, processor, source, names)
        plan[target] = named(header, source, target, shapes[target], process)
    missing = sorted(set(shapes) - {made.part_of for made in plan.values()} - tied)
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


def _processed(processor: Any, source: str, names: dict[str, str], weights: np.ndarray) -> np.ndarray:
    into: dict[str, dict[str, object]] = {"tensors": {}}
    return processor.process(
        weights=weights, name=source, tensor_key_mapping=names, parsed_parameters=into
    ).weights


def _processor(header: Header, config: Mapping[str, Any]) -> Any:
    """What rearranges tensors: transformers' own, if it knows the architecture."""
    plain, gemma2, by_architecture = gguf_processors()

    class Falcon(plain):  # type: ignore[misc, valid-type]
        def process(self, weights: np.ndarray, name: str, **others: object) -> Any:
            if ".attn_qkv." in name:
                weights = falcon_groups(weights, config["num_attention_heads"], config["num_kv_heads"])
            return super().process(weights, name, **others)

    own = {"gemma": gemma2, "falcon": Falcon, "qwen2moe": plain, "qwen3moe": plain}
    return (own.get(header.architecture) or by_architecture.get(header.architecture, plain))(config=config)


def _scale_of(source: str) -> str | None:
    """The parameter of a scale: those of Gemma 4's router, and of its experts."""
    match = re.fullmatch(r"blk\.(\d+)\.ffn_(gate_inp|down_exps)\.scale", source)
    if match is None:
        return None
    return f"model.layers.{match[1]}.router.{'scale' if match[2] == 'gate_inp' else 'per_expert_scale'}"


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
