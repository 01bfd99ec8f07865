"""Whether another way of computing gives what a model's own gives: tried on a few of the job's rows.

How far they may be apart is not a constant: the model's own way is computed once more with every layer's
output off by as much as rounding could put it, which shows what rounding means for these weights, these rows
and this type.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from trainer.kernels.install import uninstalled
from trainer.libraries.peft import without_adapter

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel

    from trainer.model.hardware import Hardware

# The most that two ways may be apart, as multiples of the root mean square of what rounding does: the root
# mean square of all differences, their mean (times the root of their number), and the largest. Those of
# SmolLM2-135M are 0.5, 0.7 and 2 in bfloat16, and 1, 1.4 and 3.5 in float32.
USUAL, MEAN, LARGEST = 3.0, 5.0, 16.0
# Added to what rounding does, in nats: in small models it is almost nothing.
FLOOR = 1e-6
# Numbers of an output, such as logits, from which on all its tokens are off by the same, to save memory.
MANY = 1 << 22


def is_alike(
    model: PreTrainedModel, hardware: Hardware, usual: Callable[[], Tensor], ours: Callable[[], Tensor]
) -> bool:
    """Whether `ours()` is what `usual()` is with the library's layers of `model`, but for rounding.

    Both are log-probabilities, or other figures that the model computes of each of some tokens, (tokens).
    """
    import torch

    inner, training = without_adapter(model), model.training
    model.eval()
    try:
        with torch.no_grad(), autocast(hardware.device, hardware.autocast):
            with uninstalled(inner):
                expected = usual()
                with _rounded(inner, hardware.autocast or hardware.weights):
                    rounding = float((usual() - expected).square().mean().sqrt()) + FLOOR
            apart = ours() - expected
    finally:
        model.train(training)
    return (
        float(apart.square().mean().sqrt()) <= USUAL * rounding
        and abs(float(apart.mean())) <= MEAN * rounding / len(apart) ** 0.5
        and float(apart.abs().max()) <= LARGEST * rounding
    )


def why_different(alike: Callable[[], bool], how: str) -> str | None:
    """Why the trial `alike`, of computing a model in the way `how`, failed, or None where it did not.
    Running out of memory is the caller's."""
    try:
        return None if alike() else f"the model computes something else {how}"
    except (
        NotImplementedError,
        TypeError,
        ValueError,
        RuntimeError,
        AttributeError,
        KeyError,
        IndexError,
    ) as error:
        if "out of memory" in str(error).lower():
            raise
        why = f"the model cannot be computed {how} ({type(error).__name__}: {error})"
        return why.splitlines()[0][:200]


@contextmanager
def _rounded(inner: PreTrainedModel, dtype: str) -> Iterator[None]:
    """Within it, the outputs of the layers of `inner` are off by as much as rounding to `dtype` could put
    them. The random numbers are its own."""
    import torch

    unit = torch.finfo(getattr(torch, dtype)).eps
    numbers = torch.Generator(inner.device).manual_seed(0)

    def hook(module: Module, given: object, output: object) -> object:
        if not isinstance(output, torch.Tensor) or not output.is_floating_point():
            return output
        shape = output.shape[-1:] if output.numel() > MANY else output.shape
        factor = 1 + unit * (torch.rand(shape, generator=numbers, device=output.device) * 2 - 1)
        if output.numel() > MANY:
            return output * factor.to(output.dtype)
        return (output.float() * factor).to(output.dtype)

    hooks = [part.register_forward_hook(hook) for part in inner.modules() if not any(part.children())]
    try:
        yield
    finally:
        for each in hooks:
            each.remove()


def autocast(device: str, half: str | None) -> AbstractContextManager[object]:
    """Autocast to the torch dtype `half` on `device`, or none."""
    import torch

    return torch.autocast(device, getattr(torch, half)) if half else contextlib.nullcontext()


def log_probabilities_of(logits: Tensor, rows: list[list[int]]) -> Tensor:
    """The log-probabilities of the tokens of `rows` but the first of each, by `logits` (rows, width,
    vocabulary), one row after the other."""
    import torch

    found = []
    for of_row, row in zip(logits, rows, strict=True):
        every = of_row[: len(row) - 1].float().log_softmax(-1)
        found.append(every[range(len(row) - 1), row[1:]])
    return torch.cat(found)
