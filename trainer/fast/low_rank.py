"""Products of rows with the frozen weights and the LoRA of one layer, or of several with the same input.

The low-rank part is added in place, and that of several layers is one product with all of their A.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple


class Layer(NamedTuple):
    """A linear layer and its LoRA: weight (out, in), bias, A (rank, in) and B (out, rank), in the type of the
    weight; `scaling` of the product of A and B."""

    weight: Any
    bias: Any
    down: Any
    up: Any
    scaling: float


def layers_of(tensors: tuple[Any, ...], scalings: tuple[float, ...]) -> list[Layer]:
    """The layers whose `tensors` follow each other, four of each, with A and B in the type of the weight."""
    found = []
    for at, scaling in enumerate(scalings):
        weight, bias, down, up = tensors[4 * at : 4 * at + 4]
        found.append(Layer(weight, bias, down.to(weight.dtype), up.to(weight.dtype), scaling))
    return found


def kept_of(layers: list[Layer]) -> list[Any]:
    """What the backward pass of `layers` needs of them."""
    return [part for layer in layers for part in (layer.weight, layer.down, layer.up)]


def layers_kept(kept: list[Any], scalings: tuple[float, ...]) -> list[Layer]:
    """The layers, without bias, that `kept_of` comes from."""
    weights, downs, ups = kept[0::3], kept[1::3], kept[2::3]
    return [Layer(weight, None, *rest) for weight, *rest in zip(weights, downs, ups, scalings, strict=True)]


def joined_down(layers: list[Layer]) -> Any:
    """The A of all `layers`, one below the other."""
    import torch

    return layers[0].down if len(layers) == 1 else torch.cat([layer.down for layer in layers])


def outputs_of(rows: Any, layers: list[Layer], down: Any) -> tuple[Any, list[Any]]:
    """`rows` A' with all A as `joined_down` has them, and what each layer makes of `rows`."""
    import torch

    low = rows @ down.t()
    found = []
    for layer, part in zip(layers, _parts(low, layers), strict=True):
        found.append(
            torch.nn.functional.linear(rows, layer.weight, layer.bias).addmm_(
                part, layer.up.t(), alpha=layer.scaling
            )
        )
    return low, found


def gradients_of(
    rows: Any, low: Any, layers: list[Layer], down: Any, uppers: list[Any], wanted: bool
) -> tuple[Any, list[Any]]:
    """From those of the outputs, the gradient of `rows` if it is `wanted`, otherwise None, and, as `apply`
    takes the tensors of layers, theirs."""
    low_upper = low.new_empty(low.shape)
    of_rows = None
    found: list[Any] = []
    every = zip(layers, uppers, _parts(low, layers), _parts(low_upper, layers), strict=True)
    for layer, upper, part, part_upper in every:
        part_upper.copy_(upper @ layer.up).mul_(layer.scaling)
        if wanted:
            of_rows = upper @ layer.weight if of_rows is None else of_rows.addmm_(upper, layer.weight)
        found += [None, None, None, (upper.t() @ part).float().mul_(layer.scaling)]
    if wanted:
        of_rows.addmm_(low_upper, down)
    found[2::4] = (low_upper.t() @ rows).float().split([layer.down.shape[0] for layer in layers])
    return of_rows, found


def _parts(low: Any, layers: list[Layer]) -> tuple[Any, ...]:
    """The columns of `low` that belong to each layer."""
    return low.split([layer.down.shape[0] for layer in layers], dim=1)


@lru_cache(maxsize=1)
def low_rank_class() -> type:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class LowRank(torch.autograd.Function):
        """`apply(x, scalings, *tensors)`: for each of the layers x W' + b + scaling x A' B', with gradients
        of x, A and B; x (…, in), of each layer `tensors` has W, b, A and B. Computes in W's type, as autocast
        would."""

        @staticmethod
        def forward(context: Any, x: Any, scalings: tuple[float, ...], *tensors: Any) -> Any:
            layers = layers_of(tensors, scalings)
            rows, down = x.reshape(-1, x.shape[-1]), joined_down(layers)
            low, answers = outputs_of(rows, layers, down)
            kept = kept_of(layers)
            context.save_for_backward(rows, low, down, *kept)
            context.scalings, context.shape = scalings, x.shape
            return tuple(answer.view(*x.shape[:-1], answer.shape[-1]) for answer in answers)

        @staticmethod
        def backward(context: Any, *uppers: Any) -> Any:
            rows, low, down, *kept = context.saved_tensors
            layers = layers_kept(kept, context.scalings)
            flat = [upper.reshape(-1, upper.shape[-1]) for upper in uppers]
            of_rows, others = gradients_of(rows, low, layers, down, flat, context.needs_input_grad[0])
            return None if of_rows is None else of_rows.view(context.shape), None, *others

    return LowRank
