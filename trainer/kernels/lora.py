"""LoRA's linear layers with fewer passes over memory: the low-rank part is added in place."""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import TYPE_CHECKING

from trainer.kernels.low_rank import Constants, low_rank_class
from trainer.libraries.bitsandbytes import is_repacked, quantization_of
from trainer.libraries.peft import has_variant

if TYPE_CHECKING:
    import torch
    from bitsandbytes.nn import Linear4bit
    from peft.tuners.lora import LoraLayer
    from torch import Tensor
    from transformers import PreTrainedModel


def fuse_lora_layers(model: PreTrainedModel) -> None:
    """Replaces the forward pass of every plain LoRA layer of `model`. Layers with weights in 8 bits or
    transposed ones, several adapters or a variant of LoRA keep the library's."""
    for module in plain_lora_layers(model):
        module.forward = MethodType(forward, module)


def plain_lora_layers(model: PreTrainedModel) -> Iterator[LoraLayer]:
    """The LoRA layers of `model` that are linear, with one adapter of the usual kind and without its bias;
    on a CPU their weights may be in 4 bits."""
    import torch
    from peft.tuners.lora.layer import Linear, ParamWrapper

    for module in model.modules():
        # A linear layer may also be trained by its weight.
        wrapped = type(module) is Linear or (
            type(module) is ParamWrapper and module.parameter_name == "weight"
        )
        plain = wrapped and type(module.base_layer) is torch.nn.Linear
        if not (plain or _is_in_four_bits(module)):
            continue
        if list(module.lora_A) == ["default"] and not has_variant(module):
            biased = module.lora_A["default"].bias is not None or module.lora_B["default"].bias is not None
            if not biased:
                yield module


def _is_in_four_bits(module: LoraLayer) -> bool:
    """Whether `module` is PEFT's layer for a weight in 4 bits, on a CPU, that computes in the type that it
    was quantized from. By its names: importing the classes takes bitsandbytes."""
    base: Linear4bit | None = getattr(module, "base_layer", None)
    if (type(module).__name__, type(base).__name__) != ("Linear4bit", "Linear4bit"):
        return False
    assert base is not None
    quantization = quantization_of(base)
    if quantization is None or is_repacked(quantization):
        return False
    return base.weight.device.type == "cpu" and base.compute_dtype == quantization.dtype


def type_of(module: LoraLayer) -> torch.dtype:
    """The type that a plain LoRA layer multiplies in."""
    quantization = quantization_of(module.base_layer)
    return module.base_layer.weight.dtype if quantization is None else quantization.dtype


def forward(self: LoraLayer, x: Tensor, *args: object, **kwargs: object) -> Tensor:
    """The layer's output for `x`; the library's when the adapter is disabled, merged or has dropout."""
    if not adds_low_rank(self) or args or kwargs:
        return type(self).forward(self, x, *args, **kwargs)
    return together([self], x)[0]


def adds_low_rank(module: LoraLayer) -> bool:
    """Whether a plain LoRA layer now adds its low-rank part and does nothing else."""
    import torch

    dropout = module.lora_dropout["default"]
    drops = module.training and isinstance(dropout, torch.nn.Dropout) and dropout.p > 0
    return not (module.disable_adapters or module.merged or drops)


def is_disabled(module: LoraLayer) -> bool:
    """Whether the adapter of a plain LoRA layer, which has no dropout, is disabled for now."""
    import torch

    return module.disable_adapters and not isinstance(module.lora_dropout["default"], torch.nn.Dropout)


def replaced(modules: list[LoraLayer]) -> bool:
    """Whether something else than their forward pass here is to be called now, as within `few_rows`."""
    return any(not isinstance(vars(module).get("forward"), MethodType) for module in modules)


def together(modules: list[LoraLayer], x: Tensor) -> tuple[Tensor, ...]:
    """What each of `modules`, plain LoRA layers that `adds_low_rank`, makes of the same `x`."""
    given, constants = tensors_of(modules)
    return low_rank_class().apply(x.to(type_of(modules[0])), constants, *given)


def tensors_of(modules: list[LoraLayer]) -> tuple[list[Tensor], tuple[Constants, ...]]:
    """Their tensors as `low_rank_class` takes them, and what they have besides."""
    given = []
    for module in modules:
        base = module.base_layer
        given += [
            base.weight,
            base.bias,
            module.lora_A["default"].weight,
            module.lora_B["default"].weight,
        ]
    return given, tuple(
        Constants(module.scaling["default"], quantization_of(module.base_layer)) for module in modules
    )
