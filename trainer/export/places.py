"""Where in its base model's checkpoint an adapter's updates belong."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.export.merge.update import LowRank, OfExpert
from trainer.export.merge.weights import StoredTensor
from trainer.model import names, text_part
from trainer.model.names import Part, by_canonical, canonical
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from trainer.protocol.model_config import ModelConfig


class Places:
    """Finds the tensors of a checkpoint by the names that the loaded model has for its weights."""

    def __init__(self, base: dict[str, StoredTensor]) -> None:
        self.base = base
        self.by_canonical = by_canonical(base)

    @cached_property
    def loaded(self) -> tuple[PreTrainedModel, ModelConfig, dict[str, tuple[int, ...]]]:
        """The model without memory for its weights, its config.json, and the shapes of its tensors."""
        directory = next(iter(self.base.values())).file.parent
        config: ModelConfig = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        shapes = {name: tensor.shape for name, tensor in self.base.items()}
        return text_part.skeleton(config, directory), config, shapes

    @cached_property
    def by_library(self) -> dict[str, list[Part]]:
        """The parts that transformers makes the weights of the model from, by the weights' names."""
        return names.sources(*self.loaded)

    @cached_property
    def by_expert(self) -> dict[str, list[list[Part]]]:
        """The same of weights of all experts."""
        return names.expert_sources(*self.loaded)

    def of(self, weight: str) -> list[Part]:
        """The parts of tensors that make `weight`."""
        found = [weight] if weight in self.base else self.by_canonical.get(canonical(weight), [])
        if len(found) == 1:
            return [Part(found[0], 0, 0, self.base[found[0]].shape[0])]
        if weight not in self.by_library:
            raise refusal(
                f"The adapter changes {weight}, which is not stored as it is in the base model's files.",
                "Leave target_modules out, or name others.",
            )
        return self.by_library[weight]

    def whole(self, weight: str) -> str:
        """The tensor that is `weight`."""
        (first, *others) = self.of(weight)
        if others or first.rows != self.base[first.tensor].shape[0]:
            raise refusal(
                f"The adapter replaces {weight}, which is not a single tensor in the base model's files."
            )
        return first.tensor

    def updates_of(self, module: str, update: LowRank, targets: list[str]) -> Iterator[tuple[LowRank, Part]]:
        """What `update` of `module` changes of which tensor; `targets` are the adapter's parameters."""
        owner = module.replace(".base_layer", "")
        owned = [target for target in targets if _is_of(target.rpartition(".")[0], owner)]
        if owned and f"{owner}.weight" not in targets:
            yield from self._updates_of_experts(module, owner, update, owned)
            return
        parts = self.of(f"{module}.weight")
        self._check_shape(module, update.shape, parts)
        yield from ((update, part) for part in parts)

    def _updates_of_experts(
        self, module: str, owner: str, update: LowRank, targets: list[str]
    ) -> Iterator[tuple[LowRank, Part]]:
        # PEFT wraps the owner once for each of its parameters, the first of them innermost.
        module_of_experts = self.loaded[0].get_submodule(owner)
        parameters = [name for name, _ in module_of_experts.named_parameters(recurse=False)]
        own = [name for name in parameters if any(_is_of(target, f"{owner}.{name}") for target in targets)]
        weight = f"{owner}.{own[len(own) - 1 - module.count('.base_layer')]}"
        experts = self.by_expert.get(weight)
        if experts is None:
            raise refusal(f"The adapter changes {weight}, which the base model's files have in another form.")
        transposed, count = getattr(module_of_experts, "is_transposed", False), len(experts)
        self._check_shape(weight, update.shape[::-1] if transposed else update.shape, experts[0])
        # The library's scale is for the rank of one expert, not of all together.
        scale = update.scale * (math.sqrt(count) if update.by_root else count)
        for expert, parts in enumerate(experts):
            low = OfExpert(update.lora_a, update.lora_b, scale, transposed, experts=count, expert=expert)
            yield from ((low, part) for part in parts)

    def _check_shape(self, name: str, shape: tuple[int, ...], parts: list[Part]) -> None:
        stored = (sum(part.rows for part in parts), *self.base[parts[0].tensor].shape[-1:])
        if shape != stored:
            raise refusal(f"The adapter's change of {name} has the shape {shape}, the base's is {stored}.")


def _is_of(end: str, name: str) -> bool:
    """Whether `end` names `name`, as PEFT's targets do: by its end."""
    return name == end or name.endswith(f".{end}")


def refusal(message: str, advice: str = "Set export to none for such a training.") -> Failure:
    """The failure of an adapter that cannot be merged."""
    return Failure("unsupported", message, advice)
