"""The loss of the labelled tokens only, with its gradient computed in the same pass.

With a large vocabulary the logits are most of a small model's work. Here those of the prompt are not
computed, and those of the answer are computed once, in chunks; autograd would keep all of them or compute
them twice. The output layer must be frozen: it gets no gradient.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

# Logits of a chunk: 32 MiB as float32.
LOGITS = 1 << 23


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
            size = max(1, LOGITS // weight.shape[0])
            for start in range(0, len(labels), size):
                part, answers = hidden[start : start + size], labels[start : start + size, None]
                logits = torch.nn.functional.linear(part.to(weight.dtype), weight, bias).float()
                if scale != 1.0:
                    logits *= scale
                if softcap is not None:
                    logits = torch.tanh_(logits.div_(softcap))
                    slope = 1 - logits * logits
                    logits *= softcap
                largest, likeliest = logits.max(-1, keepdim=True)
                correct += (likeliest == answers).sum()
                logits -= largest
                total -= logits.gather(1, answers).sum()
                shares = logits.exp_()
                sums = shares.sum(-1, keepdim=True)
                total += sums.log().sum()
                shares /= sums
                shares.scatter_add_(1, answers, torch.full_like(sums, -1.0))
                if softcap is not None:
                    shares *= slope
                shares *= scale / count
                gradient[start : start + size] = shares.to(weight.dtype) @ weight
            context.save_for_backward(gradient)
            context.mark_non_differentiable(correct)
            return total / count, correct

        @staticmethod
        def backward(context: Any, upper: Any, _: Any) -> Any:
            (gradient,) = context.saved_tensors
            return (gradient * upper.to(gradient.dtype), None, None, None, None, None, None)

    return LabelledLoss
