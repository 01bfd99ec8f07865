"""Base and adapter read and merged apart from the export, so that both must be wrong alike to go unnoticed.

Only what is no plain LoRA of a matrix (experts in one tensor, tensors that are replaced) is merged by the
export's own code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export.merge.weights import StoredTensor, read_header
from trainer.model import whole

if TYPE_CHECKING:
    from torch import Tensor

    from trainer.export.merge.adapter import Value

# The rounding of float32, half a unit in the last place.
ROUNDING = 2.0**-24


class ReadAgain(StoredTensor):
    """A tensor of the base, read with numpy alone."""

    @classmethod
    def of(cls, stored: StoredTensor) -> ReadAgain:
        """The same tensor."""
        return cls(**{field.name: getattr(stored, field.name) for field in fields(stored)})

    def read(self, rows: range | None = None) -> Tensor:
        """The tensor, or rows of it: float32 for floating types, otherwise its own type."""
        import numpy as np
        import torch

        kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "?"}
        kind = np.dtype(kinds.get(self.dtype) or f"<{self.dtype[0].lower()}{int(self.dtype[1:]) // 8}")
        per_row = math.prod(self.shape[1:])
        chosen = range(self.shape[0] if self.shape else 1) if rows is None else rows
        data = np.fromfile(
            self.file,
            kind,
            count=len(chosen) * per_row,
            offset=self.offset + chosen.start * per_row * kind.itemsize,
        )
        if self.dtype == "BF16":
            data = (data.astype(np.uint32) << 16).view(np.float32)
        elif self.floating:
            data = data.astype(np.float32, copy=False)
        return torch.from_numpy(data.reshape((len(chosen), *self.shape[1:]) if self.shape else ()))


@dataclass
class LowRank:
    """The change of one matrix: its factors, float32, oriented as the matrix, and the scale."""

    up: Tensor
    down: Tensor
    scale: float
    # The norm that the sum gets along `inputs`, for each output of the module (DoRA), and that dimension.
    magnitude: Tensor | None = None
    inputs: int = 1
    # Whether it has been added to its matrix, and the most that its magnitude then multiplied the sum with.
    applied: bool = False
    factor: float = 1.0

    def apply(self, weight: Tensor) -> Tensor:
        """weight + scale · up·down, with the magnitude's norms."""
        import torch

        self.applied = True
        merged = torch.addmm(weight, self.up, self.down, alpha=self.scale)
        if self.magnitude is None:
            return merged
        factors = self.magnitude / merged.double().square().sum(self.inputs).sqrt()
        self.factor = float(factors.abs().max())
        return merged * factors.float().unsqueeze(self.inputs)

    def rounding(self) -> tuple[float, float]:
        """What float32 may lose in a sum, whatever the order of its terms: a share of the sum, and an
        absolute part. A sum of n products is off by at most n·u·Σ|terms| (Higham, Accuracy and Stability of
        Numerical Algorithms, 3.1), and here two such sums are compared."""
        terms = abs(self.scale) * float(self.up.norm(dim=1).max() * self.down.norm(dim=0).max())
        share = 2 * (self.up.shape[1] + 3) * ROUNDING
        absolute = 2 * share * terms * self.factor
        if self.magnitude is not None:
            # A norm of n numbers is a sum of n terms; its error grows with √n (Higham and Mary, A New
            # Approach to Probabilistic Rounding Error Analysis, 2019).
            size = self.down.shape[1] if self.inputs == 1 else self.up.shape[0]
            share += (math.sqrt(size) + 4) * ROUNDING
        return share, absolute


def low_rank_updates(folder: Path, base: dict[str, StoredTensor]) -> dict[str, LowRank]:
    """The plain low-rank updates of the adapter in `folder`, by the base's tensor; a whole model has none."""
    if whole.is_whole(folder):
        return {}
    config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    found: dict[str, dict[str, StoredTensor]] = {}
    for key, stored in read_header(folder / "adapter_model.safetensors").items():
        named = r"(?:base_model\.model\.)?(.+)\.lora_(A|B|magnitude_vector)(?:\.default)?(?:\.weight)?"
        match = re.fullmatch(named, key)
        if match and len(stored.shape) == (1 if match[2] == "magnitude_vector" else 2):
            found.setdefault(match[1], {})[match[2]] = stored
    updates: dict[str, LowRank] = {}
    shared: set[str] = set()
    for module, pair in found.items():
        name = _tensor_of(module, base)
        if name is None or not {"A", "B"} <= set(pair) or len(base[name].shape) != 2:
            continue
        shape = (pair["B"].shape[0], pair["A"].shape[1])
        transposed = bool(config.get("fan_in_fan_out"))
        # Modules that share a tensor, or have parts of several.
        if name in updates or (shape[::-1] if transposed else shape) != base[name].shape:
            shared.add(name)
            continue
        down, up = ReadAgain.of(pair["A"]).read(), ReadAgain.of(pair["B"]).read()
        rank = down.shape[0]
        alpha = _by_pattern(config.get("alpha_pattern"), module, config["lora_alpha"])
        scale = alpha / (rank**0.5 if config.get("use_rslora") else rank)
        magnitude = pair.get("magnitude_vector")
        updates[name] = LowRank(
            *((down.T, up.T) if transposed else (up, down)),
            scale,
            None if magnitude is None else ReadAgain.of(magnitude).read(),
            inputs=0 if transposed else 1,
        )
    return {name: update for name, update in updates.items() if name not in shared}


def _tensor_of(module: str, base: dict[str, StoredTensor]) -> str | None:
    """The tensor of the base that is `module`'s weight: the only one whose name ends alike for the longest,
    with the layer's number in it if there is one."""
    wanted = f"{module}.weight".split(".")
    best, longest = None, 1
    for name in base:
        same = 0
        for ours, theirs in zip(reversed(wanted), reversed(name.split(".")), strict=False):
            if ours != theirs:
                break
            same += 1
        if same > longest:
            best, longest = name, same
        elif same == longest:
            best = None
    numbered = any(part.isdecimal() for part in wanted)
    return best if not numbered or any(part.isdecimal() for part in wanted[-longest:]) else None


def _by_pattern(patterns: Mapping[str, Value] | None, module: str, default: Value) -> Value:
    """PEFT's `alpha_pattern`: a key matches a module's name or the end of it after a dot."""
    for pattern, value in (patterns or {}).items():
        if re.search(rf"(?:^|\.)(?:{pattern})$", module):
            return value
    return default
