"""Which tensors of a checkpoint make a weight of the loaded model: transformers renames, joins and divides
them while it loads, by a table of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trainer.libraries.transformers import in_natural_order, renamed, transforms_of
from trainer.model import text_part

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.core_model_loading import WeightConverter, WeightRenaming

    from trainer.protocol.model_config import ModelConfig


# Name segments that wrappers add before the layers and that a published checkpoint may omit.
WRAPPERS = frozenset({"base_model", "model", "transformer", "language_model"})


def canonical(name: str) -> str:
    """A tensor's name without wrapper segments: `model.layers.0.x` and `layers.0.x` are the same."""
    parts = name.split(".")
    start = 0
    while start < len(parts) - 1 and parts[start] in WRAPPERS:
        start += 1
    return ".".join(parts[start:])


def by_canonical(names: Iterable[str]) -> dict[str, list[str]]:
    """`names` by their canonical ones."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(canonical(name), []).append(name)
    return found


class Part(NamedTuple):
    """`rows` rows of a checkpoint's `tensor`, from row `at` on, which are those of a weight from `row` on. Of
    a tensor that has all experts, the rows of one `expert`."""

    tensor: str
    at: int
    row: int
    rows: int
    expert: int | None = None


def stored_shapes(directory: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of all tensors of the safetensors files in `directory`, by their names."""
    from safetensors import safe_open

    found: dict[str, tuple[int, ...]] = {}
    for file in sorted(directory.glob("*.safetensors")):
        with safe_open(file, "pt") as tensors:
            found.update({name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()})  # noqa: SIM118
    return found


def mergeable(model: PreTrainedModel, config: ModelConfig, directory: Path) -> set[str] | None:
    """The weights of `model`, loaded from `directory` with this config.json, into whose tensors an update can
    be merged; None of a model whose weights are not as they are stored."""
    if getattr(model, "is_quantized", False):
        return None
    stored = stored_shapes(directory)
    found = {*sources(model, config, stored), *expert_sources(model, config, stored)}
    renamings, _ = _transforms(model, config)
    # PEFT renames what an adapter has like a checkpoint, and then misses what had its name already.
    return {weight for weight in found if renamed(weight, renamings, [])[0] == weight}


def sources(
    model: PreTrainedModel, config: ModelConfig, stored: dict[str, tuple[int, ...]]
) -> dict[str, list[Part]]:
    """The parts of the tensors `stored` (their shapes by their names) that each weight of `model` with this
    config.json consists of, by its name. Weights that are made in another way than from rows as they are
    stored have none."""
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found: dict[str, list[Part]] = {}
    for weight, made in _made(model, config, stored, shapes).items():
        if made.operations == ["Chunk"]:
            (tensor,) = made.tensors
            rows = stored[tensor][0] // len(made.targets)
            for number, target in enumerate(made.targets):
                part = weight.replace(made.targets[0], target)
                if shapes.get(part) == (rows, *stored[tensor][1:]):
                    found[part] = [Part(tensor, number * rows, 0, rows)]
        elif made.operations in ([], ["Concatenate"]):
            counts = [sum(stored[tensor][:1]) for tensor in made.tensors]
            if shapes.get(weight) == (sum(counts), *stored[made.tensors[0]][1:]):
                found[weight] = _below_each_other(made.tensors, counts)
    return found


def expert_sources(
    model: PreTrainedModel, config: ModelConfig, stored: dict[str, tuple[int, ...]]
) -> dict[str, list[list[Part]]]:
    """The same of each weight that has all experts, (experts, rows, columns): the parts of every expert,
    which the checkpoint has in one tensor or each in its own."""
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found: dict[str, list[list[Part]]] = {}
    for weight, made in _made(model, config, stored, shapes).items():
        shape = shapes.get(weight, ())
        if len(shape) != 3:
            continue
        if not made.operations and stored[made.tensors[0]] == shape:
            found[weight] = [[Part(made.tensors[0], 0, 0, shape[1], expert)] for expert in range(shape[0])]
        elif made.operations in (["MergeModulelist"], ["MergeModulelist", "Concatenate"]):
            each = [
                _below_each_other(own, [stored[tensor][0] for tensor in own])
                for own in zip(*made.by_pattern, strict=False)
            ]
            sizes = {sum(part.rows for part in parts) for parts in each}
            if len(each) == shape[0] and sizes == {shape[1]}:
                found[weight] = each
    return found


class _Made(NamedTuple):
    """What makes a weight: tensors for each pattern of names, in the order of the patterns, by the library's
    `operations`; several weights where there are more `targets` than one."""

    by_pattern: list[list[str]]
    operations: list[str]
    targets: list[str]

    @property
    def tensors(self) -> list[str]:
        return [tensor for own in self.by_pattern for tensor in own]


def _made(
    model: PreTrainedModel,
    config: ModelConfig,
    stored: Mapping[str, tuple[int, ...]],
    shapes: Mapping[str, tuple[int, ...]],
) -> dict[str, _Made]:
    """What makes each weight of `model`, by its name; of several weights that are made together the first."""
    renamings, converters = _transforms(model, config)
    by_pattern = {pattern: each for each in converters for pattern in each.source_patterns}
    found: dict[str, _Made] = {}
    for name in in_natural_order(stored):
        weight, pattern = renamed(name, renamings, converters, model.base_model_prefix, shapes)
        if pattern is None:
            found[weight] = _Made([[name]], [], [])
            continue
        converter = by_pattern[pattern]
        if weight not in found:
            # Of rows, or of what is within an expert.
            merges = [type(each).__name__ == "MergeModulelist" for each in converter.operations]
            along = [getattr(each, "dim", None) for each in converter.operations]
            usual = along == [0] or (merges == [True, False] and along == [0, 1])
            operations = [type(each).__name__ for each in converter.operations] if usual else ["other"]
            empty: list[list[str]] = [[] for _ in converter.source_patterns]
            found[weight] = _Made(empty, operations, converter.target_patterns)
        found[weight].by_pattern[converter.source_patterns.index(pattern)].append(name)
    return found


def _transforms(
    model: PreTrainedModel, config: ModelConfig
) -> tuple[list[WeightRenaming], list[WeightConverter]]:
    return transforms_of(model, text_part.key_mapping(text_part.find(config)))


def _below_each_other(tensors: Sequence[str], rows: list[int]) -> list[Part]:
    """The parts of a weight that has all of these `tensors`, of so many rows, below each other."""
    starts = [sum(rows[:number]) for number in range(len(rows))]
    return [Part(*each) for each in zip(tensors, [0] * len(rows), starts, rows, strict=False)]
