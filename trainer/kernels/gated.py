"""Linear layers of a decoder's block that have the same input, computed together.

Queries, keys and values are one pass over their input backward, and so are both halves of a gated
feed-forward layer, which keeps neither its activation nor the product for the backward pass, but computes
them again.
"""

from __future__ import annotations

from ctypes import Structure, c_int32, c_int64, c_void_p
from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Protocol

from trainer.kernels import lora, native
from trainer.kernels.low_rank import (
    Constants,
    gradients_of,
    joined_down,
    kept_of,
    layers_kept,
    layers_of,
    outputs_of,
    shaped,
)
from trainer.kernels.native import fields
from trainer.libraries.torch import silu_gradient

if TYPE_CHECKING:
    import torch
    from peft.tuners.lora import LoraLayer
    from torch import Size, Tensor
    from torch.nn import Module
    from torch.utils.hooks import RemovableHandle
    from transformers import PreTrainedModel
    from transformers.models.llama.modeling_llama import LlamaAttention

    from trainer.kernels.context import Context

    class _Context(Context, Protocol):
        constants: tuple[Constants, ...]
        shape: Size


# Names of layers with the same input in attention, and of a gated feed-forward layer.
SAME_INPUT = ("q_proj", "k_proj", "v_proj")
GATED = ("gate_proj", "up_proj", "down_proj")


class _Operands(Structure):
    """`GateOperands` of native/kernels/gate.cpp."""

    _fields_ = [
        *fields(c_void_p, "gate", "up", "product", "gate_gradient"),
        *fields(c_int64, "count"),
        *fields(c_int32, "type", "threads"),
    ]


GATE = native.Kernel("gate", _Operands)


def fuse_same_inputs(model: PreTrainedModel) -> None:
    """Lets the plain LoRA layers of `model` that have the same input compute together."""
    plain = set(lora.plain_lora_layers(model))
    for module in model.modules():
        group = _plain(module, SAME_INPUT, plain)
        if group is not None:
            earlier = vars(group[0]).get("together")
            if earlier is not None:
                earlier.hook.remove()
            # The attention ends before all of them are called where it shares another's keys and values, or
            # runs out of memory.
            together = _Together(group, module.register_forward_hook(_forget, always_call=True))
            for layer in group:
                layer.together = together
                layer.forward = MethodType(_first if layer is group[0] else _other, layer)
        layers = _plain(module, GATED, plain)
        if layers is not None and _gates(module, layers):
            module.forward = MethodType(forward, module)


def _plain(module: Module, names: tuple[str, ...], plain: set[LoraLayer]) -> list[LoraLayer] | None:
    """The layers of `module` with these names if all of them are among `plain`."""
    found = [getattr(module, name, None) for name in names]
    return [layer for layer in found if layer is not None] if plain.issuperset(found) else None


class _Together:
    """Layers that are called one after the other with the same input `x`: the first computes for all, and
    `waiting` has what the others have not returned yet. `hook` forgets that when their attention ends."""

    def __init__(self, layers: list[LoraLayer], hook: RemovableHandle) -> None:
        self.layers = layers
        self.hook = hook
        self.x: Tensor | None = None
        self.waiting: dict[LoraLayer, Tensor] = {}
        self.apart = False

    def forget(self) -> None:
        """Frees what was computed for layers that were not called, and the graph behind it."""
        self.x = None
        self.waiting.clear()


def _forget(attention: LlamaAttention, *_: object) -> None:
    """Ends the computation of the layers of `attention`, also when it failed."""
    getattr(attention, SAME_INPUT[0]).together.forget()


def _first(self: LoraLayer, x: Tensor, *args: object, **kwargs: object) -> Tensor:
    """The output of the first layer of a group for `x`."""
    group = self.together
    others = group.layers[1:]
    usable = not (group.apart or args or kwargs or lora.replaced(others))
    if not usable or not all(map(lora.adds_low_rank, group.layers)):
        return lora.forward(self, x, *args, **kwargs)
    answer, *found = lora.together(group.layers, x)
    group.x, group.waiting = x, dict(zip(others, found, strict=True))
    return answer


def _other(self: LoraLayer, x: Tensor, *args: object, **kwargs: object) -> Tensor:
    """The output of another layer of a group for `x`."""
    group = self.together
    answer = group.waiting.pop(self, None)
    if answer is not None and x is group.x:
        if not group.waiting:
            group.x = None
        return answer
    if answer is not None:
        # This attention does not give them the same, as that to an encoder's output.
        group.apart = True
        group.forget()
    return lora.forward(self, x, *args, **kwargs)


def _gates(module: Module, layers: list[LoraLayer]) -> bool:
    """Whether the module, which has no other parts, is down(SiLU(gate(x)) * up(x))."""
    import torch

    others = [part for name, part in module.named_children() if name not in GATED]
    if len(others) != 1 or type(others[0]).__name__ not in ("SiLU", "SiLUActivation"):
        return False
    base = layers[0].base_layer
    if base.weight.device.type != "cpu" or not all(map(lora.adds_low_rank, layers)):
        return False
    made = torch.Generator().manual_seed(0)
    x = torch.randn(1, 3, base.in_features, generator=made).to(lora.type_of(layers[0]))
    try:
        with torch.no_grad():
            expected, found = type(module).forward(module, x), forward(module, x)
    except (TypeError, RuntimeError, AttributeError):
        return False
    # The same operations in the same order.
    return expected.shape == found.shape and torch.allclose(expected, found, rtol=1e-3)


def forward(self: Module, x: Tensor, *args: object, **kwargs: object) -> Tensor:
    """The output of a gated feed-forward layer for `x`; as its class computes it where a part does more."""
    import torch

    layers = [getattr(self, name) for name in GATED]
    if args or kwargs or lora.replaced(layers):
        return type(self).forward(self, x, *args, **kwargs)
    if all(map(lora.is_disabled, layers)) and not torch.is_grad_enabled():
        # Rounds as below, so that a reference is what an adapter of zeros gives.
        gate, up, down = (layer.base_layer for layer in layers)
        x = x.to(lora.type_of(layers[0]))
        return down(_product(gate(x), up(x)))
    if not all(map(lora.adds_low_rank, layers)):
        return type(self).forward(self, x, *args, **kwargs)
    tensors, constants = lora.tensors_of(layers)
    return gated_class().apply(x.to(lora.type_of(layers[0])), constants, *tensors)


@lru_cache(maxsize=1)
def gated_class() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class Gated(torch.autograd.Function):
        """`apply(x, constants, *tensors)`: down(SiLU(gate(x)) * up(x)), with gradients of x and of every
        A and B; `tensors` are those of gate, up and down as `LowRank` takes them."""

        @staticmethod
        def forward(
            context: _Context, x: Tensor, constants: tuple[Constants, ...], *tensors: Tensor
        ) -> Tensor:
            *pair, last = layers_of(tensors, constants)
            rows, down = x.reshape(-1, x.shape[-1]), joined_down(pair)
            low, (gate, up) = outputs_of(rows, pair, down)
            low_last, (answer,) = outputs_of(_product(gate, up), [last], last.down)
            kept = kept_of([*pair, last])
            context.save_for_backward(rows, low, down, gate, up, low_last, *kept)
            context.constants, context.shape = constants, x.shape
            return shaped(answer, x.shape)

        @staticmethod
        def backward(context: _Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
            rows, low, down, gate, up, low_last, *kept = context.saved_tensors
            *pair, last = layers_kept(kept, context.constants)
            product = _product(gate, up)
            of_product, of_last = gradients_of(
                product, low_last, [last], last.down, [grad_output.reshape(-1, grad_output.shape[-1])], True
            )
            assert of_product is not None
            of_gate, of_up = _gradients(gate, up, of_product, product)
            wanted = context.needs_input_grad[0]
            of_rows, of_pair = gradients_of(rows, low, pair, down, [of_gate, of_up], wanted)
            return None if of_rows is None else of_rows.view(context.shape), None, *of_pair, *of_last

    return Gated


def _product(gate: Tensor, up: Tensor) -> Tensor:
    """SiLU(gate) * up."""
    import torch

    if GATE.computes(gate, up):
        return _gate_by_kernel(gate, up)
    return torch.nn.functional.silu(gate).mul_(up)


def _gradients(gate: Tensor, up: Tensor, of_product: Tensor, unused: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of both from that of their `_product`; it and `unused`, of the same shape, may be
    overwritten."""
    import torch

    if GATE.computes(gate, up, of_product):
        return _gate_gradients_by_kernel(gate, up, of_product, unused)
    of_up = torch.nn.functional.silu(gate).mul_(of_product)
    of_gate = torch.mul(of_product, up, out=unused)
    return silu_gradient(of_gate, gate), of_up


def _gate_by_kernel(gates: Tensor, ups: Tensor) -> Tensor:
    """SiLU(`gates`) * `ups`, both without gaps."""
    import torch

    native.require(native.lie_alike(gates, ups), "a gate")
    product = torch.empty_like(gates)
    _call(gates, ups, product, None)
    return product


def _gate_gradients_by_kernel(
    gates: Tensor, ups: Tensor, grad_output: Tensor, of_gates: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of `gates` and `ups` from `grad_output`, that of the product: in the memory of `of_gates`
    and of `grad_output`."""
    native.require(native.lie_alike(gates, ups, grad_output, of_gates), "the gradients of a gate")
    _call(gates, ups, grad_output, of_gates)
    return of_gates, grad_output


def _call(gates: Tensor, ups: Tensor, product: Tensor, of_gates: Tensor | None) -> None:
    pointers = [part.data_ptr() for part in (gates, ups, product)]
    last = None if of_gates is None else of_gates.data_ptr()
    GATE(*pointers, last, gates.numel(), native.type_of(gates), native.threads())
