"""The last layer of a decoder, computed only for the tokens whose states are used: those that predict learned
tokens. Of the others it needs keys and values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING

from trainer.kernels import gated, lora
from trainer.kernels.row_attention import Row

if TYPE_CHECKING:
    from peft.tuners.lora import LoraLayer
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel
    from transformers.models.llama.modeling_llama import LlamaMLP


class Used:
    """What the parts of a last layer share: `positions`, the tokens whose states are used in the pass that is
    computed now, ascending, or None where all are."""

    def __init__(self) -> None:
        self.positions: Tensor | None = None


def narrow_last_layer(model: PreTrainedModel) -> None:
    """Lets the last layer of `model` compute only what is used of it where `attend` is given what that is.

    Only layers with fused parts that end with a feed-forward layer, each token for itself, are changed. What
    they give for other tokens is of no use.
    """
    import torch

    for module in model.modules():
        layers = getattr(module, "layers", None)
        if not isinstance(layers, torch.nn.ModuleList) or len(layers) == 0:
            continue
        attention, feed_forward = (getattr(layers[-1], name, None) for name in ("self_attn", "mlp"))
        output = getattr(attention, "o_proj", None)
        if attention is None or output is None or feed_forward is None:
            continue
        if _forward_of(output) is not lora.forward or _forward_of(feed_forward) is not gated.forward:
            continue
        attention.used = output.used = feed_forward.used = Used()
        output.forward = MethodType(_output, output)
        feed_forward.forward = MethodType(_feed_forward, feed_forward)


def _forward_of(module: Module | None) -> Callable[..., Tensor] | None:
    """The function that replaces the forward pass of `module`, if any."""
    return getattr(vars(module).get("forward"), "__func__", None) if module is not None else None


def is_narrow(inner: PreTrainedModel) -> bool:
    """Whether a layer of `inner` is narrowed."""
    return any(_forward_of(module) is _feed_forward for module in inner.modules())


def used_queries(rows: list[Row], positions: list[int]) -> list[Row]:
    """`rows` without the queries before the first of `positions`, ascending, in each; without rows that have
    none."""
    found = []
    for row in rows:
        at = bisect_left(positions, row.queries.start)
        if at < len(positions) and positions[at] < row.queries.stop:
            found.append(Row(slice(positions[at], row.queries.stop), row.keys))
    return found


def _output(self: LoraLayer, x: Tensor, *args: object, **kwargs: object) -> Tensor:
    return _at(self.used.positions, lora.forward, self, x, *args, **kwargs)


def _feed_forward(self: LlamaMLP, x: Tensor, *args: object, **kwargs: object) -> Tensor:
    positions, self.used.positions = self.used.positions, None
    return _at(positions, gated.forward, self, x, *args, **kwargs)


def _at(
    positions: Tensor | None,
    forward: Callable[..., Tensor],
    module: Module,
    x: Tensor,
    *args: object,
    **kwargs: object,
) -> Tensor:
    """What `forward` makes of the tokens at `positions` of `x` (1, tokens, size), and 0 for the others."""
    if positions is None:
        return forward(module, x, *args, **kwargs)
    found = forward(module, x[:, positions], *args, **kwargs)
    return found.new_zeros(*x.shape[:-1], found.shape[-1]).index_copy(1, positions, found)
