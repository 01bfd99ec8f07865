"""The loss, or the log-probabilities, of the labelled tokens only, with gradients computed in the same pass.

With a large vocabulary the logits are most of a small model's work. Here those of the prompt are not
computed, and those of the answer are computed once, in chunks; autograd would keep all of them or compute
them twice. The output layer must be frozen: it gets no gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

# Logits of a chunk: 32 MiB as float32.
LOGITS = 1 << 23


def _chunks(hidden: Any, weight: Any, labels: Any) -> Iterator[tuple[Any, Any, slice]]:
    """The rows of `hidden` with their `labels` (tokens, 1) and their place, a few at a time."""
    size = max(1, LOGITS // weight.shape[0])
    for start in range(0, len(labels), size):
        place = slice(start, start + size)
        yield hidden[place], labels[place, None], place


def _logits(part: Any, weight: Any, bias: Any, scale: float, softcap: float | None) -> tuple[Any, Any]:
    """The logits of `part` as float32, and the slope of the softcap at each, None without one."""
    import torch

    logits = torch.nn.functional.linear(part.to(weight.dtype), weight, bias).float()
    if scale != 1.0:
        logits *= scale
    if softcap is None:
        return logits, None
    logits = torch.tanh_(logits.div_(softcap))
    slope = 1 - logits * logits
    return logits.mul_(softcap), slope


@lru_cache(maxsize=1)
def labelled_loss_class() -> type:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class LabelledLoss(torch.autograd.Function):
        """`apply(hidden, weight, bias, scale, softcap, labels, count)`: cross entropy of the logits
        `softcap(scale * (hidden @ weight.T + bias))` summed over the tokens and divided by `count`, and how
        many tokens were predicted correctly. hidden (tokens, size), weight (vocabulary, size)."""

        @staticmethod
        def forward(
            context: Any,
            hidden: Any,
            weight: Any,
            bias: Any,
            scale: float,
            softcap: float | None,
            labels: Any,
            count: Any,
        ) -> Any:
            gradient = torch.empty_like(hidden)
            total = torch.zeros((), dtype=torch.float32, device=hidden.device)
            correct = torch.zeros((), dtype=torch.int64, device=hidden.device)
            for part, answers, place in _chunks(hidden, weight, labels):
                logits, slope = _logits(part, weight, bias, scale, softcap)
                largest, likeliest = logits.max(-1, keepdim=True)
                correct += (likeliest == answers).sum()
                logits -= largest
                total -= logits.gather(1, answers).sum()
                shares = logits.exp_()
                sums = shares.sum(-1, keepdim=True)
                total += sums.log().sum()
                shares /= sums
                shares.scatter_add_(1, answers, torch.full_like(sums, -1.0))
                if slope is not None:
                    shares *= slope
                shares *= scale / count
                gradient[place] = shares.to(weight.dtype) @ weight
            context.save_for_backward(gradient)
            context.mark_non_differentiable(correct)
            return total / count, correct

        @staticmethod
        def backward(context: Any, upper: Any, _: Any) -> Any:
            (gradient,) = context.saved_tensors
            return (gradient * upper.to(gradient.dtype), None, None, None, None, None, None)

    return LabelledLoss


@lru_cache(maxsize=1)
def log_probability_class() -> type:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class LogProbability(torch.autograd.Function):
        """`apply(hidden, weight, bias, scale, softcap, labels)`: the log-probability of each label by the
        logits `softcap(scale * (hidden @ weight.T + bias))`, float32 (tokens); and figures without a
        gradient (3, tokens): the entropies, the means of the logits, and whether each label is the likeliest.
        hidden (tokens, size), weight (vocabulary, size)."""

        @staticmethod
        def forward(
            context: Any,
            hidden: Any,
            weight: Any,
            bias: Any,
            scale: float,
            softcap: float | None,
            labels: Any,
        ) -> Any:
            wanted = context.needs_input_grad[0]
            gradient = torch.empty_like(hidden) if wanted else None
            found = torch.empty(len(labels), dtype=torch.float32, device=hidden.device)
            figures = torch.empty(3, len(labels), dtype=torch.float32, device=hidden.device)
            for part, answers, place in _chunks(hidden, weight, labels):
                logits, slope = _logits(part, weight, bias, scale, softcap)
                figures[1, place] = logits.mean(-1)
                largest, likeliest = logits.max(-1, keepdim=True)
                logits -= largest
                shares = logits.exp()
                sums = shares.sum(-1, keepdim=True)
                rest = sums.log()
                shares /= sums
                found[place] = (logits.gather(1, answers) - rest)[:, 0]
                figures[0, place] = rest[:, 0] - torch.einsum("tv,tv->t", shares, logits)
                figures[2, place] = (likeliest == answers)[:, 0].float()
                if wanted:
                    shares.neg_().scatter_add_(1, answers, torch.ones_like(sums))
                    if slope is not None:
                        shares *= slope
                    if scale != 1.0:
                        shares *= scale
                    gradient[place] = shares.to(weight.dtype) @ weight
            context.save_for_backward(gradient)
            context.mark_non_differentiable(figures)
            return found, figures

        @staticmethod
        def backward(context: Any, upper: Any, _: Any) -> Any:
            (gradient,) = context.saved_tensors
            return (gradient * upper[:, None].to(gradient.dtype), None, None, None, None, None)

    return LogProbability


def log_probabilities(inner: Any, hidden: Any, labels: Any, figures: bool = True) -> tuple[Any, Any]:
    """The log-probability of each of `labels` after `hidden` (tokens, size), by the output layer of the model
    `inner`, as float32; and, with `figures`, those of `LogProbability`, otherwise None."""
    import torch

    head = inner.get_output_embeddings()
    scale, softcap = output_scale(inner)
    frozen = type(head) is torch.nn.Linear and not any(part.requires_grad for part in head.parameters())
    if frozen and (figures or hidden.requires_grad):
        given = head.weight, head.bias, scale, softcap, labels
        return log_probability_class().apply(hidden, *given)
    if frozen:
        found = torch.empty(len(labels), dtype=torch.float32, device=hidden.device)
        for part, answers, place in _chunks(hidden, head.weight, labels):
            logits, _ = _logits(part, head.weight, head.bias, scale, softcap)
            logits -= logits.max(-1, keepdim=True).values
            # In the order of `LogProbability`, whose result it must be to the bit.
            chosen = logits.gather(1, answers)
            found[place] = (chosen - logits.exp_().sum(-1, keepdim=True).log())[:, 0]
        return found, None
    logits = all_logits(inner, hidden)
    every = logits.log_softmax(-1)
    found = every.gather(1, labels[:, None])[:, 0]
    if not figures:
        return found, None
    with torch.no_grad():
        entropy = -(every.exp() * every).sum(-1)
        told = torch.stack([entropy, logits.mean(-1), (logits.argmax(-1) == labels).float()])
    return found, told


def all_logits(inner: Any, hidden: Any) -> Any:
    """The logits of every token of the vocabulary after `hidden` (tokens, size), by the output layer of the
    model `inner`, as float32."""
    import torch

    scale, softcap = output_scale(inner)
    logits = inner.get_output_embeddings()(hidden).float()
    if scale != 1.0:
        logits = logits * scale
    return logits if softcap is None else softcap * torch.tanh(logits / softcap)


def output_scale(inner: Any) -> tuple[float, float | None]:
    """What the model `inner` multiplies its logits with, and their softcap."""
    config = inner.config.get_text_config()
    scale = getattr(config, "logit_scale", None) or 1.0
    return scale, getattr(config, "final_logit_softcapping", None)
