"""Faster layers of a model with LoRA: its linear layers, norms, rotations, and layers with the same input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodType
from typing import TYPE_CHECKING

from trainer.kernels import lora
from trainer.kernels.allowed import why_not
from trainer.kernels.gated import fuse_same_inputs
from trainer.kernels.last_layer import narrow_last_layer
from trainer.kernels.norm import fuse_norms
from trainer.kernels.rotation import fuse_rotations

if TYPE_CHECKING:
    from torch.nn import Module
    from transformers import PreTrainedModel


def fuse_layers(model: PreTrainedModel, device: str) -> None:
    """Replaces the forward passes of the layers of `model` that ours compute alike, where that is allowed
    on the `device` that it trains on."""
    if why_not("fused layers", device) is not None:
        return
    lora.fuse_lora_layers(model, device)
    fuse_same_inputs(model)
    fuse_norms(model)
    fuse_rotations(model)
    narrow_last_layer(model)


@contextmanager
def as_the_library(model: PreTrainedModel) -> Iterator[None]:
    """Within it, the layers of `model` are the library's."""
    changed = [(module, vars(module).pop("forward")) for module in _fused(model)]
    try:
        yield
    finally:
        for module, forward in changed:
            module.forward = forward


def restore_layers(model: PreTrainedModel) -> None:
    """Undoes `fuse_layers`."""
    for module in _fused(model):
        del module.forward


def unfuse_layers(model: PreTrainedModel, device: str) -> None:
    """Undoes `fuse_layers`, except for single linear layers."""
    restore_layers(model)
    lora.fuse_lora_layers(model, device)


def _fused(model: PreTrainedModel) -> list[Module]:
    """The modules of `model` whose forward pass is one of ours."""
    found = []
    for module in model.modules():
        forward = vars(module).get("forward")
        function = forward.__func__ if isinstance(forward, MethodType) else None
        if function is not None and function.__module__.startswith(f"{__package__}."):
            found.append(module)
    return found
