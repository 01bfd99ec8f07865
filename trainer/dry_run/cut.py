"""Cuts a model to the fewest first layers that contain every kind of its layers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeGuard, cast

from trainer.export.merge.weights import StoredTensor

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
# With one of these the number of layers is in the shape of other tensors, or late layers use early ones.
UNCUT = ("hidden_size_per_layer_input", "num_kv_shared_layers")
# Lists that are not about layers, whatever their length.
NOT_OF_LAYERS = re.compile(r"architectures|token_ids?$|^rope|mrope")
# Lists of layers by their numbers.
NUMBERS = re.compile(r"layers$|indices$|idxs$")


@dataclass(frozen=True)
class Cut:
    """`layers` of `of` layers, and the tensors of those and of what is outside of layers, by the names that
    they have in the cut model. Layers behind the last, which predict further tokens, are kept."""

    layers: int
    of: int
    tensors: dict[str, StoredTensor]

    def config(self, config: ModelConfig) -> ModelConfig:
        """`config` (config.json, or complete) of the cut model."""
        return cast("ModelConfig", {name: self._field(name, value) for name, value in config.items()})

    def _field(self, name: str, value: object) -> object:
        if name == "text_config" and isinstance(value, dict):
            return self.config(cast("ModelConfig", value))
        if isinstance(value, dict):
            return self._of_layers(value)
        if name in COUNTS:
            return self.layers
        if isinstance(value, (list, str)) and _per_layer(name, value, self.of):
            return value[: self.layers]
        if NUMBERS.search(name) and _numbers(value):
            return [item for item in value if item < self.layers]
        return value

    def _of_layers(self, field: Mapping[str, object]) -> Mapping[str, object]:
        """`field` with what it says of the layers that are left."""
        # By the layers' numbers, as Gemma 4's `per_layer_config`.
        if field and all(name.isdecimal() and isinstance(value, dict) for name, value in field.items()):
            return {name: value for name, value in field.items() if int(name) < self.layers}
        # In lists that name each layer once, as Kimi Linear's `linear_attn_config`, which counts from one.
        lists = {name: value for name, value in field.items() if NUMBERS.search(name) and _numbers(value)}
        named = sorted(number for value in lists.values() for number in value)
        for first in (0, 1):
            if named == list(range(first, self.of + first)):
                end = self.layers + first
                left = {name: [number for number in value if number < end] for name, value in lists.items()}
                return {**field, **left}
        return field


def cut(config: ModelConfig, tensors: dict[str, StoredTensor]) -> Cut:
    """The cut of the model with this configuration and these tensors; all of its layers where it cannot be
    cut."""
    text: dict[str, object] = {**config, **(config.get("text_config") or {})}
    counts = (text.get(name) for name in COUNTS)
    total = next((count for count in counts if isinstance(count, int)), 0)
    stacks: dict[str, dict[int, dict[str, StoredTensor]]] = defaultdict(lambda: defaultdict(dict))
    for name, stored in tensors.items():
        if located := _locate(name):
            prefix, number, rest = located
            stacks[prefix][number][rest] = stored
    main = max(stacks, key=lambda prefix: sum(_bytes(layer) for layer in stacks[prefix].values()), default="")
    lists = [
        value
        for name, value in text.items()
        if isinstance(value, (list, str)) and _per_layer(name, value, total)
    ]
    kinds: dict[tuple[object, ...], int] = {}
    for number in range(total):
        layer = stacks[main].get(number, {})
        shapes = frozenset((rest, stored.shape) for rest, stored in layer.items())
        kinds.setdefault((shapes, *(str(value[number]) for value in lists)), number)
    # A vision encoder adds to so many of the first layers; llama.cpp assumes that the last is none of them.
    vision = config.get("vision_config") or {}
    indexes = vision.get("deepstack_visual_indexes")
    seeing = len(indexes) if isinstance(indexes, list) else 0
    kept = min(total, max(max(kinds.values(), default=0), seeing) + 1)
    if not total or len(stacks[main]) < total or any(text.get(name) for name in UNCUT):
        return Cut(total, total, tensors)
    found = {}
    for name, stored in tensors.items():
        located = _locate(name)
        if located and located[0] == main:
            prefix, number, rest = located
            if kept <= number < total:
                continue
            number = number if number < kept else number - total + kept
            name = f"{prefix}.{number}.{rest}"
        found[name] = replace(stored, name=name)
    return Cut(kept, total, found)


def _locate(name: str) -> tuple[str, int, str] | None:
    """The stack of layers, the number and the rest of the name of a tensor that lies in a layer."""
    found = re.match(r"(.*?)\.(\d+)\.(.+)", name)
    return (found[1], int(found[2]), found[3]) if found else None


def _bytes(layer: dict[str, StoredTensor]) -> int:
    return sum(stored.size for stored in layer.values())


def _numbers(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int for item in value)


def _per_layer(name: str, value: list[object] | str, total: int) -> bool:
    """Whether a field of the configuration has an entry for each of `total` layers."""
    if isinstance(value, str) and not name.endswith("pattern"):
        return False
    return len(value) == total and not NOT_OF_LAYERS.search(name)
