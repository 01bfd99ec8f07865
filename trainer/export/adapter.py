"""A trained LoRA adapter, applied to single tensors of its base model."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from trainer.export.weights import StoredTensor, read_header
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
class Update:
    """The adapter's update of one base tensor: W + scale · B·A, or `replacement` instead of W."""

    lora_a: StoredTensor | None = None
    lora_b: StoredTensor | None = None
    scale: float = 1.0
    transposed: bool = False
    replacement: StoredTensor | None = None

    def apply(self, weight):
        """The merged tensor in float32; `weight` (float32) is changed in place."""
        if self.replacement is not None:
            return self.replacement.read()
        a, b = self.lora_a.read(), self.lora_b.read()
        if self.transposed:
            return weight.addmm_(a.T, b.T, alpha=self.scale)
        return weight.addmm_(b, a, alpha=self.scale)

    def factors(self):
        """The factors (b, a) in float32 with b·a = the update, oriented as the base tensor."""
        a, b = self.lora_a.read(), self.lora_b.read()
        if self.transposed:
            return a.T * self.scale, b.T
        return b * self.scale, a


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

    by_canonical: dict[str, list[str]] = {}
    for name in base:
        by_canonical.setdefault(canonical(name), []).append(name)

    def place(module: str) -> str:
        if module in base:
            return module
        found = by_canonical.get(canonical(module), [])
        if len(found) != 1:
            raise _refuse(
                f"The adapter changes {module}, which is not a single tensor in the base model's files.",
                "Name target_modules that are plain linear layers of the model.",
            )
        return found[0]

    adapter = Adapter()
    for key, stored in read_header(directory / "adapter_model.safetensors").items():
        name = key.removeprefix("base_model.model.")
        match = re.fullmatch(r"(.+)\.lora_([AB])(?:\.default)?\.weight", name)
        if match:
            module = match[1]
            target = place(f"{module}.weight")
            update = adapter.updates.setdefault(target, Update())
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
            adapter.updates[place(plain)] = Update(replacement=stored)

    if not adapter.updates:
        raise Failure("internal", "The adapter is empty.", "Train again.")
    _check(adapter, base, tied)
    return adapter


def _check(adapter: Adapter, base: dict[str, StoredTensor], tied: bool) -> None:
    for name, update in adapter.updates.items():
        shape = base[name].shape
        if update.replacement is not None:
            if update.replacement.shape != shape:
                raise _refuse(
                    f"{name} has the shape {update.replacement.shape} in the adapter, {shape} in the base.",
                    "The vocabulary must stay that of the base model.",
                )
        elif update.lora_a is None or update.lora_b is None:
            raise Failure("internal", f"The adapter has only one factor of {name}.", "Train again.")
        else:
            whole = (update.lora_b.shape[0], update.lora_a.shape[1])
            if (whole[::-1] if update.transposed else whole) != shape:
                raise _refuse(f"The adapter's change of {name} has the shape {whole}, the base's is {shape}.")
        if tied and EMBEDDINGS.search(name):
            raise _refuse(
                f"The adapter changes {name}, which input and output share in this model; merging would "
                "change both.",
                "Leave the embedding and the output layer out of target_modules.",
            )
