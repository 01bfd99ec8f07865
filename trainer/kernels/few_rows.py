"""Linear layers that are quick for a few rows on a CPU: those of one pass that continues a few answers.

In bfloat16 a kernel of Hone's own reads each weight once (`native/kernels/few-rows.cpp`). Nothing of a
weight is held twice. In float32, copies in the order that oneDNN prefers would be quicker still
(`bench/LOG.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import Structure, c_int32, c_int64, c_void_p
from typing import TYPE_CHECKING

from trainer.kernels import native
from trainer.kernels.lora import plain_lora_layers, type_of
from trainer.kernels.native import fields
from trainer.libraries.torch import linear_by_onednn

if TYPE_CHECKING:
    from peft.tuners.lora import LoraLayer
    from torch import Tensor
    from torch.nn import Linear, Module
    from transformers import PreTrainedModel

# oneDNN compiles, and keeps, a program for every number of rows: it is rounded up to a multiple of this.
ROWS = 16
# Most rows that Hone's kernel multiplies (oneDNN is as quick with more, whose order pays then), and what the
# columns of a weight are a multiple of.
MOST_ROWS = 32
COLUMNS = 32


class _Operands(Structure):
    """`FewRowsOperands` of native/kernels/few-rows.cpp."""

    _fields_ = [
        *fields(c_void_p, "x", "weight", "bias", "down", "up", "answer"),
        *fields(c_int64, "rows", "columns", "size", "rank"),
        *fields(c_int32, "threads"),
    ]


KERNEL = native.Kernel("few_rows", _Operands)


@contextmanager
def few_rows(model: PreTrainedModel) -> Iterator[None]:
    """Within it, the plain linear layers of `model` in float32 or bfloat16, and its plain LoRA layers,
    compute so on a CPU, without gradients and dropout."""
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
    by_onednn = torch.backends.mkldnn.is_available()
    for module in model.modules():
        if type(module) is not torch.nn.Linear or "forward" in vars(module):
            continue
        weight, by_kernel = module.weight, _by_kernel(module)
        if by_kernel is not None:
            yield module, _for_few(module.forward, by_kernel)
        elif by_onednn and weight.device.type == "cpu" and weight.dtype == torch.float32:
            yield module, _linear(module)


def _for_few(
    usual: Callable[[Tensor], Tensor], quick: Callable[[Tensor], Tensor]
) -> Callable[[Tensor], Tensor]:
    """The forward pass that is `quick` for few rows."""
    return lambda x: quick(x) if _rows_of(x) <= MOST_ROWS else usual(x)


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
    by_kernel = _by_kernel(base, down, up * scaling)

    def forward(x: Tensor) -> Tensor:
        if by_kernel is not None and _rows_of(x) <= MOST_ROWS:
            return by_kernel(x)
        low = linear(x.float(), down).mul_(scaling)
        return base(x.to(dtype)).add_(linear(low, up))

    return forward


def _rows_of(x: Tensor) -> int:
    return x.numel() // x.shape[-1]


def _by_kernel(
    base: Module, down: Tensor | None = None, up: Tensor | None = None
) -> Callable[[Tensor], Tensor] | None:
    """The forward pass by Hone's kernel of a linear layer in bfloat16 and of what `down` (rank, in) and `up`
    (out, rank) add to it, for at most MOST_ROWS rows; None where it does not compute that."""
    import torch

    if type(base) is not torch.nn.Linear:
        return None
    weight = base.weight.detach()
    size, columns = weight.shape
    multiplied = weight.dtype == torch.bfloat16 and weight.is_contiguous() and columns % COLUMNS == 0
    if not (multiplied and KERNEL.computes(weight) and native.instruction_set() == "avx512_bf16"):
        return None
    bias = None if base.bias is None else base.bias.detach().to(weight.dtype).contiguous()
    rank = 0
    if down is not None and up is not None:
        fill = -len(down) % native.HEAD
        down = torch.nn.functional.pad(down, (0, 0, 0, fill)).to(weight.dtype).contiguous()
        up = torch.nn.functional.pad(up, (0, fill)).contiguous()
        rank = len(down)
    call = KERNEL.prepared(None, None, None, None, None, None, 0, columns, size, rank, native.threads())
    parts = {"weight": weight, "bias": bias, "down": down, "up": up}

    def forward(x: Tensor) -> Tensor:
        rows = x.to(torch.bfloat16).contiguous()
        answer = rows.new_empty(*x.shape[:-1], size)
        of_layer = {name: None if part is None else part.data_ptr() for name, part in parts.items()}
        call(**of_layer, x=rows.data_ptr(), answer=answer.data_ptr(), rows=_rows_of(x))
        return answer

    return forward
