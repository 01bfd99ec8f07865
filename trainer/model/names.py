"""Which tensors of a checkpoint make a weight of the loaded model: transformers renames, joins and divides
them while it loads, by a table of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from trainer.model import text_part


class Part(NamedTuple):
    """`rows` rows of a checkpoint's `tensor`, from row `at` on, which are those of a weight from `row` on."""

    tensor: str
    at: int
    row: int
    rows: int


def stored_shapes(directory: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of all tensors of the safetensors files in `directory`, by their names."""
    from safetensors import safe_open

    found: dict[str, tuple[int, ...]] = {}
    for file in sorted(directory.glob("*.safetensors")):
        with safe_open(file, "pt") as tensors:
            found.update({name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()})  # noqa: SIM118
    return found


def mergeable(model: Any, config: dict[str, Any], directory: Path) -> set[str] | None:
    """The weights of `model`, loaded from `directory` with this config.json, into whose tensors an update can
    be merged; None of a model whose weights are not as they are stored."""
    if getattr(model, "is_quantized", False):
        return None
    return set(sources(model, config, stored_shapes(directory)))


def sources(model: Any, config: dict[str, Any], stored: dict[str, tuple[int, ...]]) -> dict[str, list[Part]]:
    """The parts of the tensors `stored` (their shapes by their names) that each weight of `model` with this
    config.json consists of, by its name. Weights that are made in another way than from rows as they are
    stored have none."""
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import (
        WeightConverter,
        WeightRenaming,
        dot_natural_key,
        rename_source_key,
    )

    transforms = get_model_conversion_mapping(model, text_part.key_mapping(text_part.find(config)))
    renamings = [each for each in transforms if isinstance(each, WeightRenaming)]
    converters = [each for each in transforms if isinstance(each, WeightConverter)]
    by_pattern = {pattern: each for each in converters for pattern in each.source_patterns}
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    prefix = model.base_model_prefix
    found: dict[str, list[Part]] = {}
    joined: dict[str, dict[str, list[str]]] = {}
    for name in sorted(stored, key=dot_natural_key):
        renamed, pattern = rename_source_key(name, renamings, converters, prefix, shapes)
        if pattern is None:
            if shapes.get(renamed) == stored[name] and stored[name]:
                found[renamed] = [Part(name, 0, 0, stored[name][0])]
            continue
        converter = by_pattern[pattern]
        if _is(converter, "Chunk"):
            targets = converter.target_patterns
            rows = stored[name][0] // len(targets)
            for number, target in enumerate(targets):
                weight = renamed.replace(targets[0], target)
                if shapes.get(weight) == (rows, *stored[name][1:]):
                    found[weight] = [Part(name, number * rows, 0, rows)]
        elif _is(converter, "Concatenate"):
            joined.setdefault(renamed, {}).setdefault(pattern, []).append(name)
    for weight, by_source in joined.items():
        order = by_pattern[next(iter(by_source))].source_patterns
        parts, row = [], 0
        for name in (name for pattern in order for name in by_source.get(pattern, [])):
            parts.append(Part(name, 0, row, stored[name][0]))
            row += stored[name][0]
        if shapes.get(weight, (0,))[0] == row:
            found[weight] = parts
    return found


def _is(converter: Any, operation: str) -> bool:
    """Whether `converter` does this to rows, and nothing else."""
    done = converter.operations
    return len(done) == 1 and type(done[0]).__name__ == operation and done[0].dim == 0
