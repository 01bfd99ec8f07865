"""Linear layers that are quick for a few rows on a CPU: those of one pass that continues a few answers.

Nothing of a weight is held twice. Copies in the order that oneDNN prefers would be quicker still
(`bench/LOG.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trainer.kernels.lora import plain_lora_layers, type_of
from trainer.libraries.torch import linear_by_onednn

if TYPE_CHECKING:
    from peft.tuners.lora import LoraLayer
    from torch import Tensor
    from torch.nn import Linear, Module
    from transformers import PreTrainedModel

# oneDNN compiles, and keeps, a program for every number of rows: it is rounded up to a multiple of this.
ROWS = 16


@contextmanager
def few_rows(model: PreTrainedModel) -> Iterator[None]:
    """Within it, the plain linear layers of `model` in float32, and its plain LoRA layers, compute so on a
    CPU, without gradients and dropout."""
    changed = []
    try:
        for module, forward in _quicker(model):
            changed.append((module, vars(module).get("forward")))
            module.forward = forward
        yield
    finally:
        for module, before in changed:
            if before is None:
                del module.forward
            else:
                module.forward = before


def _quicker(model: PreTrainedModel) -> Iterator[tuple[Module, Callable[[Tensor], Tensor]]]:
    """Layers with their quick forward passes."""
    import torch

    for module in plain_lora_layers(model):
        if module.base_layer.weight.device.type == "cpu" and not (module.disable_adapters or module.merged):
            yield module, _low_rank(module)
    if not torch.backends.mkldnn.is_available():
        return
    for module in model.modules():
        if type(module) is torch.nn.Linear and "forward" not in vars(module):
            weight = module.weight
            if weight.device.type == "cpu" and weight.dtype == torch.float32:
                yield module, _linear(module)


def _linear(module: Linear) -> Callable[[Tensor], Tensor]:
    """The forward pass of a linear layer by oneDNN: torch's own is MKL, which takes up to 1.7 times as long
    where there are more columns than rows."""
    import torch

    weight, bias = module.weight.detach(), module.bias
    pad = torch.nn.functional.pad

    def forward(x: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])
        found = linear_by_onednn(pad(rows, (0, 0, 0, -len(rows) % ROWS)), weight, bias)
        return found[: len(rows)].view(*x.shape[:-1], -1)

    return forward


def _low_rank(module: LoraLayer) -> Callable[[Tensor], Tensor]:
    """The forward pass of a LoRA layer: products with the small matrices cost less in float32 than their
    conversion."""
    import torch

    base, linear = module.base_layer, torch.nn.functional.linear
    dtype, scaling = type_of(module), module.scaling["default"]
    down = module.lora_A["default"].weight.detach().float()
    up = module.lora_B["default"].weight.detach().float()

    def forward(x: Tensor) -> Tensor:
        low = linear(x.float(), down).mul_(scaling)
        return base(x.to(dtype)).add_(linear(low, up))

    return forward
