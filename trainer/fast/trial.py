"""Whether another way of computing gives what a model's own gives: tried on a few of the job's rows.

How far they may be apart is not a constant: the model's own way is computed once more with every layer's
output off by as much as rounding could put it, which shows what rounding means for these weights, these rows
and this type.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from trainer.fast.layers import as_the_library

if TYPE_CHECKING:
    from trainer.model.hardware import Hardware

# How many times as far apart as by the root mean square of what rounding does: the root mean square of all
# differences, the mean of all beside what is left of chance in it, and the largest. In bfloat16,
# SmolLM2-135M's are 0.5, 0.6 and 3.
USUAL, MEAN, LARGEST = 3.0, 5.0, 16.0
# The type that adds up what rounding cannot be seen in, in nats.
FLOOR = 1e-6


def is_alike(model: Any, hardware: Hardware, usual: Callable[[], Any], ours: Callable[[], Any]) -> bool:
    """Whether `ours()` is what `usual()` is with the library's layers of `model`, but for rounding.

    Both are log-probabilities, or other figures that the model computes of each of some tokens, (tokens).
    """
    import torch

    inner, training = without_adapter(model), model.training
    model.eval()
    try:
        with torch.no_grad(), autocast(hardware.device, hardware.autocast):
            with as_the_library(inner):
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
def _rounded(inner: Any, dtype: str) -> Iterator[None]:
    """Within it, the outputs of the layers of `inner` are off by as much as rounding to `dtype` could put
    them. The random numbers are its own."""
    import torch

    unit = torch.finfo(getattr(torch, dtype)).eps
    numbers = torch.Generator(inner.device).manual_seed(0)

    def hook(module: Any, given: Any, output: Any) -> Any:
        if not isinstance(output, torch.Tensor) or not output.is_floating_point():
            return output
        noise = torch.rand(output.shape, generator=numbers, device=output.device) * 2 - 1
        return (output.float() * (1 + unit * noise)).to(output.dtype)

    hooks = [part.register_forward_hook(hook) for part in inner.modules() if not any(part.children())]
    try:
        yield
    finally:
        for each in hooks:
            each.remove()


def without_adapter(model: Any) -> Any:
    """The model that has the layers, with those of an adapter."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def autocast(device: str, half: str | None) -> Any:
    """Autocast to the torch dtype `half` on `device`, or none."""
    import torch

    return torch.autocast(device, getattr(torch, half)) if half else contextlib.nullcontext()


def log_probabilities_of(logits: Any, rows: list[list[int]]) -> Any:
    """The log-probabilities of the tokens of `rows` but the first of each, by `logits` (rows, width,
    vocabulary), one row after the other."""
    import torch

    every = logits.float().log_softmax(-1)
    found = [every[at, range(len(row) - 1), row[1:]] for at, row in enumerate(rows)]
    return torch.cat(found)
