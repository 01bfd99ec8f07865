"""LoRA's linear layers with fewer passes over memory: the low-rank part is added in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import MethodType
from typing import Any


def fuse_lora_layers(model: Any) -> int:
    """Replaces the forward pass of every plain LoRA layer of `model`; returns how many there are.

    Layers with quantized or transposed weights, several adapters or a variant of LoRA keep the library's.
    """
    count = 0
    for module in _plain_layers(model):
        module.forward = MethodType(_forward, module)
        count += 1
    return count


@contextmanager
def few_rows(model: Any) -> Iterator[None]:
    """Within it, the plain LoRA layers of `model` are quick for a few rows on a CPU, without gradients and
    dropout: products with the small matrices cost less in float32 than their conversion."""
    changed = []
    for module in _plain_layers(model):
        if module.base_layer.weight.device.type == "cpu" and not (module.disable_adapters or module.merged):
            changed.append((module, vars(module).get("forward")))
            module.forward = _quick(module)
    try:
        yield
    finally:
        for module, before in changed:
            if before is None:
                del module.forward
            else:
                module.forward = before


def _plain_layers(model: Any) -> Iterator[Any]:
    import torch
    from peft.tuners.lora.layer import Linear

    for module in model.modules():
        plain = type(module) is Linear and type(module.base_layer) is torch.nn.Linear
        if plain and list(module.lora_A) == ["default"] and not module.lora_variant:
            biased = module.lora_A["default"].bias is not None or module.lora_B["default"].bias is not None
            if not biased:
                yield module


def _quick(module: Any) -> Callable[[Any], Any]:
    """The forward pass of a LoRA layer for `few_rows`."""
    import torch

    base, linear = module.base_layer, torch.nn.functional.linear
    weight, bias, scaling = base.weight, base.bias, module.scaling["default"]
    down = module.lora_A["default"].weight.detach().float()
    up = module.lora_B["default"].weight.detach().float()

    def forward(x: Any) -> Any:
        low = linear(x.float(), down).mul_(scaling)
        return linear(x.to(weight.dtype), weight, bias).add_(linear(low, up))

    return forward


def _forward(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The layer's output for `x`; the library's when the adapter is disabled, merged or has dropout."""
    import torch

    dropout = self.lora_dropout["default"]
    drops = self.training and isinstance(dropout, torch.nn.Dropout) and dropout.p > 0
    if self.disable_adapters or self.merged or drops or args or kwargs:
        return type(self).forward(self, x, *args, **kwargs)
    base, down, up = self.base_layer, self.lora_A["default"].weight, self.lora_B["default"].weight
    return low_rank_class().apply(
        x.to(base.weight.dtype), base.weight, base.bias, down, up, self.scaling["default"]
    )


@lru_cache(maxsize=1)
def low_rank_class() -> type:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class LowRank(torch.autograd.Function):
        """`apply(x, weight, bias, down, up, scaling)`: x W' + b + scaling x A' B', with gradients of x, A and
        B; x (…, in), W (out, in), A (rank, in), B (out, rank). Computes in W's type, as autocast would."""

        @staticmethod
        def forward(context: Any, x: Any, weight: Any, bias: Any, down: Any, up: Any, scaling: float) -> Any:
            rows = x.reshape(-1, x.shape[-1])
            a, b = down.to(weight.dtype), up.to(weight.dtype)
            low = rows @ a.t()
            answer = torch.nn.functional.linear(rows, weight, bias).addmm_(low, b.t(), alpha=scaling)
            context.save_for_backward(rows, weight, a, b, low)
            context.scaling, context.shape = scaling, x.shape
            return answer.view(*x.shape[:-1], -1)

        @staticmethod
        def backward(context: Any, upper: Any) -> Any:
            rows, weight, a, b, low = context.saved_tensors
            upper = upper.reshape(-1, upper.shape[-1])
            low_upper = (upper @ b).mul_(context.scaling)
            of_x = None
            if context.needs_input_grad[0]:
                of_x = (upper @ weight).addmm_(low_upper, a).view(context.shape)
            of_down = (low_upper.t() @ rows).float()
            of_up = (upper.t() @ low).float().mul_(context.scaling)
            return of_x, None, None, of_down, of_up, None

    return LowRank
