"""LoRA's linear layers with fewer passes over memory: the low-rank part is added in place."""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any

from trainer.fast.low_rank import low_rank_class


def fuse_lora_layers(model: Any) -> int:
    """Replaces the forward pass of every plain LoRA layer of `model`; returns how many there are.

    Layers with quantized or transposed weights, several adapters or a variant of LoRA keep the library's.
    """
    count = 0
    for module in plain_lora_layers(model):
        module.forward = MethodType(forward, module)
        count += 1
    return count


def plain_lora_layers(model: Any) -> Iterator[Any]:
    """The LoRA layers of `model` that are linear, with one adapter of the usual kind and without its bias."""
    import torch
    from peft.tuners.lora.layer import Linear

    for module in model.modules():
        plain = type(module) is Linear and type(module.base_layer) is torch.nn.Linear
        if plain and list(module.lora_A) == ["default"] and not module.lora_variant:
            biased = module.lora_A["default"].bias is not None or module.lora_B["default"].bias is not None
            if not biased:
                yield module


def forward(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The layer's output for `x`; the library's when the adapter is disabled, merged or has dropout."""
    if not adds_low_rank(self) or args or kwargs:
        return type(self).forward(self, x, *args, **kwargs)
    return together([self], x)[0]


def adds_low_rank(module: Any) -> bool:
    """Whether a plain LoRA layer now adds its low-rank part and does nothing else."""
    import torch

    dropout = module.lora_dropout["default"]
    drops = module.training and isinstance(dropout, torch.nn.Dropout) and dropout.p > 0
    return not (module.disable_adapters or module.merged or drops)


def replaced(modules: list[Any]) -> bool:
    """Whether something else than their forward pass here is to be called now, as within `few_rows`."""
    return any(not isinstance(vars(module).get("forward"), MethodType) for module in modules)


def together(modules: list[Any], x: Any) -> tuple[Any, ...]:
    """What each of `modules`, plain LoRA layers that `adds_low_rank`, makes of the same `x`."""
    given, scalings = tensors_of(modules)
    return low_rank_class().apply(x.to(given[0].dtype), scalings, *given)


def tensors_of(modules: list[Any]) -> tuple[list[Any], tuple[float, ...]]:
    """Their tensors as `low_rank_class` takes them, and their scalings."""
    given = []
    for module in modules:
        base = module.base_layer
        given += [
            base.weight,
            base.bias,
            module.lora_A["default"].weight,
            module.lora_B["default"].weight,
        ]
    return given, tuple(module.scaling["default"] for module in modules)
