"""Puts Hone's kernels into a model with LoRA, and takes them out again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodType
from typing import TYPE_CHECKING

from trainer.kernels.allowed import why_not
from trainer.kernels.gated import fuse_same_inputs
from trainer.kernels.last_layer import narrow_last_layer
from trainer.kernels.lora import fuse_lora_layers
from trainer.kernels.norm import fuse_norms
from trainer.kernels.rotation import fuse_rotations

if TYPE_CHECKING:
    from torch.nn import Module
    from transformers import PreTrainedModel


def install(
    model: PreTrainedModel,
    device: str,
    *,
    lora: bool = True,
    same_inputs: bool = True,
    norms: bool = True,
    rotations: bool = True,
    last_layer: bool = True,
) -> None:
    """Replaces the forward passes of the layers of `model` that ours compute alike, where that is allowed on
    the `device` that it trains on (trainer/kernels/allowed.py).

    Args:
        lora: Linear layers with LoRA add the low-rank part in place.
        same_inputs: Such layers with the same input, as queries, keys and values, read it once; needs `lora`.
        norms: RMS norms in one pass.
        rotations: Rotary embeddings in one pass.
        last_layer: The last decoder layer computes only what learned tokens need; needs `lora` and
            `same_inputs`.
    """
    if why_not("fused layers", device) is not None:
        return
    if lora:
        fuse_lora_layers(model)
    if same_inputs:
        fuse_same_inputs(model)
    if norms:
        fuse_norms(model)
    if rotations:
        fuse_rotations(model)
    if last_layer:
        narrow_last_layer(model)


def install_linear(model: PreTrainedModel, device: str) -> None:
    """Installs the kernel of linear layers alone, for padded rows and families with layers of their own."""
    uninstall(model)
    install(model, device, same_inputs=False, norms=False, rotations=False, last_layer=False)


def uninstall(model: PreTrainedModel) -> None:
    """Gives `model` the library's layers."""
    for module in installed(model):
        del module.forward


@contextmanager
def uninstalled(model: PreTrainedModel) -> Iterator[None]:
    """Within it, the layers of `model` are the library's."""
    changed = [(module, vars(module).pop("forward")) for module in installed(model)]
    try:
        yield
    finally:
        for module, forward in changed:
            module.forward = forward


def installed(model: PreTrainedModel) -> list[Module]:
    """The modules of `model` whose forward pass is one of ours."""
    found = []
    for module in model.modules():
        forward = vars(module).get("forward")
        function = forward.__func__ if isinstance(forward, MethodType) else None
        if function is not None and function.__module__.startswith(f"{__package__}."):
            found.append(module)
    return found
