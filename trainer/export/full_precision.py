"""A full-precision copy of a base model whose weights are stored quantized, which an adapter is merged into.

It lies in the job's folder as long as files are made of it.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export.merge.weights import DTYPE_BYTES, FLOATING, TORCH_NAMES, make_header
from trainer.export.shared_base import base_directory
from trainer.libraries.transformers import unpacked_mxfp4
from trainer.model import view
from trainer.model.quantization import packed, quantized
from trainer.protocol.contracts import Spec
from trainer.protocol.failures import Failure
from trainer.protocol.model_config import stored_quantization
from trainer.training.disk_budget import refuse_beyond_free

if TYPE_CHECKING:
    from safetensors import safe_open
    from torch import Tensor

    from trainer.protocol.model_config import ModelConfig

FOLDER = "full-precision"
# Where it is made. Both are removed after a kill, too (src/domain/jobs/run/scratch.ts).
PARTIAL = "full-precision.partial"

# The types of safetensors by those of torch.
KINDS = {f"torch.{name}": kind for kind, name in TORCH_NAMES.items()}
# More than a tensor's entry in the header has beside its name.
ENTRY_BYTES = 256
# Tensors that belong to the quantized one before them in the name, by the method that stores them.
SCALES = {
    "bitsandbytes": (
        *(".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"),
        *(".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4"),
    ),
    "fp8": ("_scale_inv",),
    "mxfp4": ("_scales",),
}


def needed(config: ModelConfig) -> bool:
    """Whether an adapter of the model with this config.json is merged into a copy of it."""
    return quantized.method_of(config) in quantized.MERGED


def directory(
    spec: Spec, report: Callable[[float], None] = lambda share: None, apart: Path | None = None
) -> Path:
    """The base model of a job, or its copy where the weights are stored quantized: the same values in 16
    bits, and a config.json without the quantization. Makes the copy unless it is there, in the folder
    `apart` for a process beside that of the run.

    Takes the memory of the largest tensor, several times in 32 bits. `report` is called with the share that
    is done. Failure `disk_full` when the copy does not fit on the disk.
    """
    model = base_directory(spec)
    config: ModelConfig = view.read_model_config(model) or {}
    if not needed(config):
        return model
    copy = spec.folder / FOLDER
    if copy.is_dir():
        return copy
    made = apart or spec.folder / PARTIAL
    dequantize(view.make_view(model, made), report, spec.disk.spare_bytes if spec.disk else 0)
    for path in made.iterdir():
        if path.is_symlink():
            # It is read as a model's folder, of which no link may lead out.
            real = path.resolve()
            path.unlink()
            shutil.copyfile(real, path)
    return made if apart else made.rename(copy)


def remove_copy(job_folder: Path) -> None:
    """Removes the copy, which can be made again, and what there is of one that was not finished."""
    for name in (FOLDER, PARTIAL):
        shutil.rmtree(job_folder / name, ignore_errors=True)


def dequantize(folder: Path, report: Callable[[float], None] = lambda share: None, spare: float = 0) -> None:
    """Replaces the weight files of the view `folder`, which are links, by files in full precision, and its
    config.json by one without the quantization.

    Failure `disk_full` when they and `spare` bytes do not fit on the disk.
    """
    from safetensors import safe_open

    config = json.loads((folder / "config.json").read_text("utf-8"))
    names = view.weight_files(folder) or [view.WEIGHTS]
    opened = [safe_open((folder / name).resolve(), framework="pt") for name in names]
    size = sum(full_bytes(file, quantized.bits_of(config)) for file in opened)
    # A model that is trained from the copy needs it without an export, too.
    way_out = "." if quantized.is_unpacked(config) else ", or set export to none."
    advice = f"(old models and checkpoints, the hub cache){way_out}"
    refuse_beyond_free(folder, {"base model in full precision": size}, spare, advice)
    stored = {key: file for file in opened for key in file.keys()}  # noqa: SIM118
    done, weight_map = 0, {}

    def read(key: str) -> tuple[str, Tensor] | None:
        nonlocal done
        done += 1
        report(done / len(stored))
        return _read(key, config, stored)

    for name, file in zip(names, opened, strict=True):
        (folder / name).unlink()
        weight_map.update(dict.fromkeys(_write(folder / name, list(file.keys()), read), name))
    if (folder / view.INDEX).exists():
        (folder / view.INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}), "utf-8")
    (folder / "config.json").write_text(json.dumps(quantized.without_quantization(config)), "utf-8")


def _write(path: Path, keys: list[str], read: Callable[[str], tuple[str, Tensor] | None]) -> list[str]:
    """Writes what `read` makes of each of `keys`, as a safetensors file; returns the names in it."""
    import torch

    written: list[tuple[str, str, Sequence[int], int]] = []
    # The header comes first and is known last.
    room = 64 + sum(len(json.dumps(key)) + ENTRY_BYTES for key in keys)
    room += -room % 8
    with open(path, "wb") as file:
        file.seek(room)
        for key in keys:
            found = read(key)
            if found is None:
                continue
            name, value = found
            kind = KINDS.get(str(value.dtype))
            if kind is None:
                raise Failure(
                    "bad_model",
                    f"{name} is stored quantized ({value.dtype}), and its scales are absent.",
                    "Choose another copy of the model, or its 16-bit version.",
                )
            file.write(value.contiguous().view(-1).view(torch.uint8).numpy().data)
            written.append((name, kind, value.shape, value.nbytes))
        head = make_header(written, room)
        assert len(head) == room
        file.seek(0)
        file.write(head)
    return [name for name, *_ in written]


def full_bytes(file: safe_open, bits: int) -> float:
    """About the bytes that the tensors of a weight file have in full precision, if its codes are of `bits`;
    slightly more, as zero points count as weights."""
    total = 0.0
    for key in file.keys():  # noqa: SIM118
        part = file.get_slice(key)
        kind, count = part.get_dtype(), math.prod(part.get_shape())
        width = DTYPE_BYTES.get(kind, 1)
        total += count * width * (1 if kind in FLOATING else 16 / bits)
    return total


def _owner(key: str, method: str) -> str | None:
    """The tensor that a scale or table is for; None for any other tensor."""
    suffix = next((suffix for suffix in SCALES[method] if key.endswith(suffix)), None)
    if suffix is not None:
        return key.removesuffix(suffix) + ("_blocks" if method == "mxfp4" else "")
    for ending in (".SCB", ".weight_format"):
        if method == "bitsandbytes" and key.endswith(ending):
            return key.removesuffix(ending) + ".weight"
    return None


def _read(key: str, config: ModelConfig, stored: Mapping[str, safe_open]) -> tuple[str, Tensor] | None:
    """The name and the value, in 16 bits where it was quantized, of the tensor `key`; None for one that
    belongs to another."""
    import torch

    def get(name: str) -> Tensor:
        return stored[name].get_tensor(name)

    method = str(quantized.method_of(config))
    quantization = stored_quantization(config) or {}
    if method in packed.FORMS:
        return packed.read(key, quantization, stored.__contains__, get)
    if _owner(key, method) in stored:
        return None
    value = get(key)
    if method == "mxfp4" and key.endswith("_blocks"):
        plain = key.removesuffix("_blocks")
        return plain, unpacked_mxfp4(value, get(f"{plain}_scales"))
    if method == "fp8" and f"{key}_scale_inv" in stored:
        scales = get(f"{key}_scale_inv").float()
        spread = packed.spread(scales, value.shape, packed.block_sizes_of(quantization), key)
        return key, (value.float() * spread).bfloat16()
    if method == "bitsandbytes" and f"{key}.absmax" in stored:
        from bitsandbytes.functional import QuantState, dequantize_4bit

        parts = {other: get(other) for other in stored if other.startswith(f"{key}.")}
        state = QuantState.from_dict(parts, device=torch.device("cpu"))
        return key, dequantize_4bit(value, state).bfloat16()
    scale = key.removesuffix(".weight") + ".SCB"
    if method == "bitsandbytes" and scale in stored:
        # Codes of 8 bits, and the largest value of each row.
        return key, (value.float() * get(scale).float()[:, None] / 127).bfloat16()
    return key, value
