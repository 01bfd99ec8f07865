"""Computes a model in float32 whatever type its weights are stored in, without a second copy of it.

The weights of one part at a time are float32, for its forward pass: each of the decoder's layers is a part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from trainer.kernels.attention import NAME
from trainer.kernels.install import uninstalled
from trainer.libraries.peft import without_adapter
from trainer.libraries.transformers import attention_of, set_attention

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module, Parameter
    from torch.utils.hooks import RemovableHandle
    from transformers import PreTrainedModel


@contextmanager
def in_float32(model: PreTrainedModel) -> Iterator[None]:
    """Within it, `model` (which may have an adapter) computes in float32, with the library's layers. Weights
    in 4 or 8 bits stay what they are."""
    import torch

    inner = without_adapter(model)
    before = attention_of(inner)
    with ExitStack() as stack:
        stack.enter_context(uninstalled(inner))
        # Values that a model computes when it is made are rounded to its type, as Gemma's embedding scale is.
        for name, value in _exact_buffers(inner).items():
            owner, _, last = name.rpartition(".")
            stack.enter_context(_replaced(inner.get_submodule(owner), last, value))
        for module, whole in _parts(model):
            handles = _hook(module, whole)
            for handle in handles:
                stack.callback(handle.remove)
        if before == NAME:
            set_attention(inner, "sdpa")
            stack.callback(set_attention, inner, before)
        with torch.autocast(inner.device.type, enabled=False):
            yield


def _parts(model: PreTrainedModel) -> Iterator[tuple[Module, bool]]:
    """The modules whose weights are converted together: with (True) or without those of modules in them."""
    import torch
    from peft.tuners.tuners_utils import BaseTunerLayer

    covered: set[int] = set()
    for module in model.modules():
        if id(module) in covered:
            continue
        layers = list(module) if isinstance(module, torch.nn.ModuleList) else []
        for whole in [*layers, *([module] if isinstance(module, BaseTunerLayer) else [])]:
            covered.update(map(id, whole.modules()))
            yield whole, True
        if id(module) not in covered and next(module.parameters(recurse=False), None) is not None:
            yield module, False


def _hook(module: Module, whole: bool) -> list[RemovableHandle]:
    """Converts the weights of `module` before its forward pass and puts them back behind it."""
    import torch

    stored: list[tuple[Parameter, Tensor]] = []

    def widen(*_: object) -> None:
        for parameter in module.parameters(recurse=whole):
            if parameter.dtype in (torch.bfloat16, torch.float16):
                stored.append((parameter, parameter.data))
                parameter.data = parameter.data.float()

    def restore(*_: object) -> None:
        while stored:
            parameter, data = stored.pop()
            parameter.data = data

    return [
        module.register_forward_pre_hook(widen, prepend=True),
        module.register_forward_hook(restore, always_call=True),
    ]


def _exact_buffers(inner: PreTrainedModel) -> dict[str, Tensor]:
    """The buffers of 16 bits as a float32 model would have them, by name."""
    import torch
    from accelerate import init_empty_weights

    rounded = {
        name: buffer
        for name, buffer in inner.named_buffers()
        if buffer.dtype in (torch.bfloat16, torch.float16)
    }
    if not rounded:
        return {}
    with init_empty_weights(include_buffers=False):
        fresh = dict(type(inner)(inner.config).float().named_buffers())
    return {
        name: fresh[name].to(buffer.device)
        for name, buffer in rounded.items()
        if name in fresh and not fresh[name].is_meta and fresh[name].shape == buffer.shape
    }


@contextmanager
def _replaced(module: Module, name: str, value: Tensor) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)
