"""A trained LoRA adapter, applied to single tensors of its base model."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from trainer.export.weights import StoredTensor, read_header
from trainer.model import names, text_part
from trainer.model.names import Part
from trainer.protocol.failures import Failure

# Names of embeddings and output layers.
EMBEDDINGS = re.compile(r"(embed_tokens|wte|embed_in|lm_head|embed_out)\.weight$")
# Name segments that wrappers add before the layers and that a published checkpoint may omit.
WRAPPERS = frozenset({"base_model", "model", "transformer", "language_model"})


def canonical(name: str) -> str:
    """A tensor's name without wrapper segments: `model.layers.0.x` and `layers.0.x` are the same."""
    parts = name.split(".")
    start = 0
    while start < len(parts) - 1 and parts[start] in WRAPPERS:
        start += 1
    return ".".join(parts[start:])


@dataclass
class LowRank:
    """scale · B·A of one module; where `transposed`, of the transpose of its weight."""

    lora_a: StoredTensor | None = None
    lora_b: StoredTensor | None = None
    scale: float = 1.0
    transposed: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """That of the weight."""
        whole = (self.lora_b.shape[0], self.lora_a.shape[1])
        return whole[::-1] if self.transposed else whole

    def factors(self):
        """The factors (b, a) in float32 with scale · b·a = the update of the weight."""
        a, b = self.lora_a.read(), self.lora_b.read()
        return (a.T, b.T) if self.transposed else (b, a)


@dataclass
class Update:
    """The adapter's update of one base tensor: `parts`, updates of modules with the rows that they share with
    the tensor; or `replacement` instead of it."""

    parts: list[tuple[LowRank, Part]] = field(default_factory=list)
    replacement: StoredTensor | None = None

    def apply(self, weight):
        """The merged tensor in float32; `weight` (float32) is changed in place."""
        if self.replacement is not None:
            return self.replacement.read()
        for update, part in self.parts:
            b, a = update.factors()
            rows = weight[part.at : part.at + part.rows]
            rows.addmm_(b[part.row : part.row + part.rows], a, alpha=update.scale)
        return weight

    def factors(self, rows: int):
        """The factors (b, a) in float32 with b·a = the update of the base tensor, which has so many rows."""
        import torch

        columns, below = [], []
        for update, part in self.parts:
            b, a = update.factors()
            column = b.new_zeros(rows, b.shape[1])
            column[part.at : part.at + part.rows] = b[part.row : part.row + part.rows] * update.scale
            columns.append(column)
            below.append(a)
        return torch.cat(columns, dim=1), torch.cat(below)


@dataclass
class Adapter:
    """Updates by the name of the base tensor. Made by `load`."""

    updates: dict[str, Update] = field(default_factory=dict)

    @property
    def replaces_tensors(self) -> bool:
        """Whether a tensor is replaced, which a GGUF adapter cannot express."""
        return any(update.replacement is not None for update in self.updates.values())


def _refuse(message: str, advice: str = "Set export to none for such a training.") -> Failure:
    return Failure("unsupported", message, advice)


def _pattern_value(patterns: dict, module: str, default):
    """PEFT's `rank_pattern` and `alpha_pattern`: a key matches the end of a module's name."""
    for pattern, value in (patterns or {}).items():
        if re.match(rf"(.*\.)?({pattern})$", module):
            return value
    return default


def shares_embedding(config: dict, base: dict[str, StoredTensor]) -> bool:
    """Whether the output layer of the model with this config.json and these tensors shares the embedding's
    weights."""
    tied = {**config, **(config.get("text_config") or {})}.get("tie_word_embeddings", False)
    return tied or not any(
        name.endswith(("lm_head.weight", "embed_out.weight", "output.weight")) for name in base
    )


def load(
    directory: Path, base: dict[str, StoredTensor], tied: bool, ignore_embeddings: bool = False
) -> Adapter:
    """Reads `adapter_config.json` and `adapter_model.safetensors` and finds the base tensor of each part.

    `base` is the index of the base; `tied` says that its output layer shares the embedding's weights. With
    `ignore_embeddings` frozen copies of embedding and output layer are left out, which a checkpoint has whose
    adapter changes one of them. Failure
    `unsupported` for what cannot be merged exactly, such as an adapter tensor without a base tensor;
    `internal` for an adapter that does not fit the base.
    """
    config = json.loads((directory / "adapter_config.json").read_text("utf-8"))
    if config.get("peft_type") != "LORA":
        raise _refuse(f"An adapter of type {config.get('peft_type')} cannot be merged; only LoRA can.")
    for option in ("use_dora", "lora_bias"):
        if config.get(option):
            raise _refuse(f"An adapter trained with {option} cannot be merged shard by shard.")
    if config.get("alora_invocation_tokens"):
        raise _refuse("An activated adapter (aLoRA) applies to a part of the text only and cannot be merged.")

    places = _Places(base)
    adapter = Adapter()
    low_rank: dict[str, LowRank] = {}
    for key, stored in read_header(directory / "adapter_model.safetensors").items():
        name = key.removeprefix("base_model.model.")
        match = re.fullmatch(r"(.+)\.lora_([AB])(?:\.default)?\.weight", name)
        if match:
            module = match[1]
            update = low_rank.setdefault(module, LowRank())
            if match[2] == "A":
                update.lora_a = stored
                rank = stored.shape[0]
                alpha = _pattern_value(config.get("alpha_pattern"), module, config["lora_alpha"])
                update.scale = alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)
                update.transposed = bool(config.get("fan_in_fan_out"))
            else:
                update.lora_b = stored
        elif ".lora_" in name:
            raise _refuse(
                f"The adapter contains {name}, which is not a low-rank update of a linear layer.",
                "Leave embeddings and expert parameters out of target_modules.",
            )
        else:
            plain = name.replace(".modules_to_save.default", "").replace(".modules_to_save", "")
            plain = plain.replace(".base_layer", "")
            module = plain.removesuffix(".weight")
            trained = any(module.endswith(saved) for saved in config.get("modules_to_save") or ())
            if ignore_embeddings and not trained and EMBEDDINGS.search(plain):
                continue
            adapter.updates[places.whole(plain)] = Update(replacement=stored)
    for module, update in low_rank.items():
        if update.lora_a is None or update.lora_b is None:
            raise Failure("internal", f"The adapter has only one factor of {module}.", "Train again.")
        parts = places.of(f"{module}.weight")
        shape = (sum(part.rows for part in parts), *base[parts[0].tensor].shape[1:])
        if update.shape != shape:
            raise _refuse(
                f"The adapter's change of {module} has the shape {update.shape}, the base's is {shape}."
            )
        for part in parts:
            adapter.updates.setdefault(part.tensor, Update()).parts.append((update, part))

    if not adapter.updates:
        raise Failure("internal", "The adapter is empty.", "Train again.")
    _check(adapter, base, tied)
    return adapter


class _Places:
    """Finds the tensors of a checkpoint by the names that the loaded model has for its weights."""

    def __init__(self, base: dict[str, StoredTensor]) -> None:
        self.base = base
        self.by_canonical: dict[str, list[str]] = {}
        for name in base:
            self.by_canonical.setdefault(canonical(name), []).append(name)
        self.by_library: dict[str, list[Part]] | None = None

    def of(self, weight: str) -> list[Part]:
        """The parts of tensors that make `weight`."""
        found = [weight] if weight in self.base else self.by_canonical.get(canonical(weight), [])
        if len(found) == 1:
            return [Part(found[0], 0, 0, self.base[found[0]].shape[0])]
        if self.by_library is None:
            self.by_library = _renamed(self.base)
        if weight not in self.by_library:
            raise _refuse(
                f"The adapter changes {weight}, which is not stored as it is in the base model's files.",
                "Leave target_modules out, or name others.",
            )
        return self.by_library[weight]

    def whole(self, weight: str) -> str:
        """The tensor that is `weight`."""
        (first, *others) = self.of(weight)
        if others or first.rows != self.base[first.tensor].shape[0]:
            raise _refuse(
                f"The adapter replaces {weight}, which is not a single tensor in the base model's files."
            )
        return first.tensor


def _renamed(base: dict[str, StoredTensor]) -> dict[str, list[Part]]:
    """The parts that transformers makes the weights of a model from, by the weights' names."""
    directory = next(iter(base.values())).file.parent
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    shapes = {name: tensor.shape for name, tensor in base.items()}
    return names.sources(text_part.skeleton(config, directory), config, shapes)


def _check(adapter: Adapter, base: dict[str, StoredTensor], tied: bool) -> None:
    for name, update in adapter.updates.items():
        shape = base[name].shape
        if update.replacement is not None and update.replacement.shape != shape:
            raise _refuse(
                f"{name} has the shape {update.replacement.shape} in the adapter, {shape} in the base.",
                "The vocabulary must stay that of the base model.",
            )
        if tied and EMBEDDINGS.search(name):
            raise _refuse(
                f"The adapter changes {name}, which input and output share in this model; merging would "
                "change both.",
                "Leave the embedding and the output layer out of target_modules.",
            )
