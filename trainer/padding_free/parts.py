"""The loss of a concatenated sequence in parts, each with its gradients: only one keeps its activations.

On a CPU, where products of matrices are about as quick per token with fewer tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.kernels.context import Context

    class _Context(Context, Protocol):
        gradients: list[Tensor | None]


# The most tokens of a part. With 32 rows of 3,000 tokens in all, a training took 1.67 GB in parts and 4.0
# undivided, and as long as far as could be told. Parts of 512 and 1,024 made batches of 1,000 tokens slower.
TOKENS = 1280


def parts_of(lengths: list[int]) -> list[list[int]]:
    """The rows with these `lengths`, by their numbers, in few parts of at most TOKENS, or of one longer row.
    Parts have about as many tokens each."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    number = 0
    while True:
        number += 1
        parts: list[list[int]] = [[] for _ in range(number)]
        tokens = [0] * number
        for row in order:
            least = tokens.index(min(tokens))
            parts[least].append(row)
            tokens[least] += lengths[row]
        if all(count <= TOKENS or len(part) == 1 for count, part in zip(tokens, parts, strict=True)):
            return [sorted(part) for part in parts]


def divides(inputs: dict[str, Tensor]) -> bool:
    """Whether a pass is on a CPU and keeps activations of `inputs`, or what replaces them."""
    import torch

    return torch.is_grad_enabled() and inputs["input_ids"].device.type == "cpu"


def sum_of_parts(
    model: PreTrainedModel, losses: list[Callable[[], tuple[Tensor, ...]]]
) -> tuple[Tensor, ...]:
    """What the functions `losses` return, added up: tensors, of which the first is a loss.

    It has the gradients of the parameters of `model`, those of each part computed before the next begins.
    """
    import torch

    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients: list[Tensor | None] = [None] * len(trained)
    totals: list[Tensor] = []
    for part in losses:
        loss, *others = part()
        if loss.requires_grad:
            found = torch.autograd.grad(loss, trained, allow_unused=True)
            gradients = [_added(*pair) for pair in zip(gradients, found, strict=True)]
        results = [loss.detach(), *others]
        totals = [total + more for total, more in zip(totals, results, strict=True)] if totals else results
    return _with_gradients().apply(totals[0], gradients, *trained), *totals[1:]


def _added(total: Tensor | None, found: Tensor | None) -> Tensor | None:
    if total is None or found is None:
        return found if total is None else total
    return total.add_(found)


@lru_cache(maxsize=1)
def _with_gradients() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class WithGradients(torch.autograd.Function):
        """`apply(loss, gradients, *parameters)`: the loss, with these gradients, each None or a tensor."""

        @staticmethod
        def forward(
            context: _Context, loss: Tensor, gradients: list[Tensor | None], *parameters: Tensor
        ) -> Tensor:
            context.gradients = gradients
            return loss.clone()

        @staticmethod
        def backward(context: _Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
            found = [None if gradient is None else gradient * grad_output for gradient in context.gradients]
            return None, None, *found

    return WithGradients
