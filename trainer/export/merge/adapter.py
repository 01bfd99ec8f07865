"""A trained LoRA adapter, applied to single tensors of its base model."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trainer.export.merge.streamed import tensor_bytes
from trainer.export.merge.update import LowRank, OfExpert, Update
from trainer.export.merge.weights import StoredTensor, read_header
from trainer.export.places import Places, refusal
from trainer.model.names import Part
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

# What PEFT calls the trained rows of an embedding or output layer.
TOKENS = ".token_adapter.trainable_tokens_delta"
# Names of embeddings and output layers.
EMBEDDINGS = re.compile(r"(embed_tokens|wte|embed_in|lm_head|embed_out)\.weight$")


@dataclass
class Adapter:
    """Updates by the name of the base tensor. Made by `load`."""

    updates: dict[str, Update] = field(default_factory=dict)

    @property
    def changes_experts(self) -> bool:
        """Whether experts are changed, of which a GGUF adapter has no parts."""
        return any(isinstance(low, OfExpert) for update in self.updates.values() for low, _ in update.parts)

    @property
    def has_magnitudes(self) -> bool:
        """Whether it is a DoRA, whose magnitudes a GGUF adapter cannot express."""
        parts = (low for update in self.updates.values() for low, _ in update.parts)
        return any(low.magnitude is not None for low in parts)

    @property
    def replaces_tensors(self) -> bool:
        """Whether a tensor is replaced, which a GGUF adapter cannot express."""
        return any(update.replacement is not None for update in self.updates.values())


Value = TypeVar("Value")


def _pattern_value(patterns: Mapping[str, Value] | None, module: str, default: Value) -> Value:
    """PEFT's `rank_pattern` and `alpha_pattern`: a key matches the end of a module's name."""
    for pattern, value in (patterns or {}).items():
        if re.match(rf"(.*\.)?({pattern})$", module):
            return value
    return default


def shares_embedding(config: ModelConfig, base: dict[str, StoredTensor]) -> bool:
    """Whether the output layer of the model with this config.json and these tensors shares the embedding's
    weights."""
    own = config.get("tie_word_embeddings", False)
    tied = (config.get("text_config") or {}).get("tie_word_embeddings", own)
    return tied or not any(
        name.endswith(("lm_head.weight", "embed_out.weight", "output.weight")) for name in base
    )


def load(
    directory: Path, base: dict[str, StoredTensor], tied: bool, ignore_embeddings: bool = False
) -> Adapter:
    """Reads `adapter_config.json` and `adapter_model.safetensors` and finds the base tensor of each part.
    Where input and output share a matrix, PEFT's `ensure_weight_tying` and `trainable_token_indices` say that
    an adapter changes it for both.

    `base` is the index of the base; `tied` says that its output layer shares the embedding's weights. With
    `ignore_embeddings` frozen copies of embedding and output layer are left out, which a checkpoint has whose
    adapter changes one of them. Failure
    `unsupported` for what cannot be merged exactly, such as an adapter tensor without a base tensor;
    `internal` for an adapter that does not fit the base.
    """
    config = json.loads((directory / "adapter_config.json").read_text("utf-8"))
    if config.get("peft_type") != "LORA":
        raise refusal(f"An adapter of type {config.get('peft_type')} cannot be merged; only LoRA can.")
    if config.get("lora_bias"):
        raise refusal("An adapter trained with lora_bias cannot be merged shard by shard.")
    if config.get("alora_invocation_tokens"):
        raise refusal("An activated adapter (aLoRA) applies to a part of the text only and cannot be merged.")

    targets = Places(base)
    adapter = Adapter()
    # Embedding and output layer, which are one matrix.
    is_shared, copies = tied and bool(config.get("ensure_weight_tying")), list[StoredTensor]()
    low_rank: dict[str, LowRank] = {}
    for key, stored in read_header(directory / "adapter_model.safetensors").items():
        name = key.removeprefix("base_model.model.")
        match = re.fullmatch(r"(.+)\.lora_([AB])(?:\.default)?\.weight", name)
        magnitude = re.fullmatch(r"(.+)\.lora_magnitude_vector(?:\.default)?(?:\.weight)?", name)
        if magnitude:
            low_rank.setdefault(magnitude[1], LowRank()).magnitude = stored
        elif match:
            module = match[1]
            update = low_rank.setdefault(module, LowRank())
            if match[2] == "A":
                update.lora_a = stored
                rank = stored.shape[0]
                alpha = _pattern_value(config.get("alpha_pattern"), module, config["lora_alpha"])
                update.by_root = bool(config.get("use_rslora"))
                update.scale = alpha / (math.sqrt(rank) if update.by_root else rank)
                update.transposed = bool(config.get("fan_in_fan_out"))
            else:
                update.lora_b = stored
        elif name.endswith(TOKENS):
            module = name.removesuffix(TOKENS)
            changed = Update(replacement=stored, rows=_tokens_of(module, config["trainable_token_indices"]))
            names = _embeddings(base) if tied else [targets.whole(f"{module}.weight")]
            adapter.updates.update(dict.fromkeys(names, changed))
        elif ".lora_" in name:
            raise refusal(
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
            if is_shared and EMBEDDINGS.search(plain):
                copies.append(stored)
                continue
            adapter.updates[targets.whole(plain)] = Update(replacement=stored)
    if copies:
        adapter.updates.update(dict.fromkeys(_embeddings(base), Update(replacement=_one_of(copies))))
    for module, update in low_rank.items():
        if update.lora_a is None or update.lora_b is None:
            raise Failure("internal", f"The adapter has only one factor of {module}.", "Train again.")
        if config.get("use_dora") and update.magnitude is None:
            raise Failure("internal", f"The adapter has no magnitude of {module}.", "Train again.")
        parts = list(targets.updates_of(module, update, config.get("target_parameters") or []))
        _check_magnitude(module, update, parts)
        for low, part in parts:
            adapter.updates.setdefault(part.tensor, Update()).parts.append((low, part))

    if not adapter.updates:
        raise Failure("internal", "The adapter is empty.", "Train again.")
    _check(adapter, base, tied, is_shared)
    return adapter


def _tokens_of(module: str, indices: dict[str, list[int]] | list[int]) -> list[int]:
    """The tokens that PEFT's `trainable_token_indices` has for the embedding or output layer `module`."""
    if isinstance(indices, list):
        return indices
    return next(found for name, found in indices.items() if f".{module}".endswith(f".{name}"))


def _embeddings(base: dict[str, StoredTensor]) -> list[str]:
    """The names of the embedding and of the output layer, as far as both are stored."""
    return [name for name in base if EMBEDDINGS.search(name)]


def _one_of(copies: list[StoredTensor]) -> StoredTensor:
    """The tensor that all `copies` are; Failure `unsupported` where they differ."""
    first, *others = copies
    for other in others:
        pairs = zip(
            tensor_bytes(first, None, first.dtype), tensor_bytes(other, None, other.dtype), strict=False
        )
        if other.size != first.size or any(bytes(one) != bytes(two) for one, two in pairs):
            raise refusal(f"The adapter has another {first.name} than {other.name}, which the base shares.")
    return first


def _check_magnitude(module: str, update: LowRank, parts: list[tuple[LowRank, Part]]) -> None:
    """Failure for a magnitude that does not fit its module, or whose norms need more than one tensor."""
    if update.magnitude is None:
        return
    outputs = update.shape[1 if update.transposed else 0]
    divided = any(isinstance(low, OfExpert) for low, _ in parts) or (update.transposed and len(parts) > 1)
    if update.magnitude.shape != (outputs,) or divided:
        raise refusal(f"The adapter's magnitude of {module} does not fit the base.")


def _check(adapter: Adapter, base: dict[str, StoredTensor], tied: bool, is_shared: bool) -> None:
    for name, update in adapter.updates.items():
        shape = base[name].shape
        if update.rows is not None:
            if max(update.rows) >= shape[0]:
                raise refusal(f"The adapter has tokens that {name} of the base has no rows for.")
            shape = (len(update.rows), *shape[1:])
        if update.replacement is not None and update.replacement.shape != shape:
            raise refusal(
                f"{name} has the shape {update.replacement.shape} in the adapter, {shape} in the base.",
                "The vocabulary must stay that of the base model.",
            )
        changes_both = not update.parts and (is_shared or update.rows is not None)
        if tied and EMBEDDINGS.search(name) and not changes_both:
            raise refusal(
                f"The adapter changes {name}, which input and output share in this model; merging would "
                "change both.",
                "Leave the embedding and the output layer out of target_modules.",
            )
