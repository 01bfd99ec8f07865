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
# On a CPU, the most rows of a chunk: few enough for its cache, enough for a quick product of matrices. Of 32
# to 511, 128 to 256 took least time with 16,000 words.
ROWS = 192


class _Chunks:
    """The rows of `hidden` with their `labels`, a few at a time, in memory that the next ones use again.

    For each, `logits` are `softcap(scale * (hidden @ weight.T + bias))`: as the product has them where that
    is all, otherwise float32.
    """

    def __init__(
        self, hidden: Any, weight: Any, bias: Any, scale: float, softcap: float | None, labels: Any
    ) -> None:
        import torch

        self.given = hidden, weight, bias, scale, softcap, labels
        most = min(LOGITS // weight.shape[0], ROWS if weight.device.type == "cpu" else LOGITS)
        self.size = max(1, min(most, len(labels)))
        shape = (self.size, weight.shape[0])
        self.product = torch.empty(shape, dtype=weight.dtype, device=weight.device)
        # The same as float32.
        self.wide = self.product.float()

    def __iter__(self) -> Iterator[tuple[Any, Any, Any, slice]]:
        """The logits, the slope of the softcap at each (None without one), the labels (tokens, 1), and their
        place. The logits are overwritten by `shares_of`."""
        import torch

        hidden, weight, bias, scale, softcap, labels = self.given
        for start in range(0, len(labels), self.size):
            place = slice(start, start + self.size)
            answers = labels[place, None]
            logits = self.product[: len(answers)]
            torch.mm(hidden[place].to(weight.dtype), weight.t(), out=logits)
            if bias is not None:
                logits += bias
            slope = None
            if scale != 1.0 or softcap is not None:
                logits = self.wide[: len(answers)].copy_(logits)
                logits *= scale
            if softcap is not None:
                torch.tanh(logits.div_(softcap), out=logits)
                slope = 1 - logits * logits
                logits *= softcap
            yield logits, slope, answers, place

    def chosen(self, logits: Any, answers: Any, place: slice) -> tuple[Any, Any]:
        """The logits of `answers` (tokens, 1), and what rounding took from each; None where it took nothing
        or that is not known."""
        import torch

        found = logits.gather(1, answers)
        hidden, weight, bias, *_ = self.given
        if weight.dtype == torch.float32 or logits.dtype == torch.float32:
            return found, None
        exact = torch.einsum("th,th->t", hidden[place].float(), weight[answers[:, 0]].float())[:, None]
        if bias is not None:
            exact += bias[answers]
        return found, exact - found.float()

    def shares_of(self, logits: Any) -> tuple[Any, Any]:
        """The softmax of `logits`, float32, and the logarithms of its denominators (tokens, 1)."""
        import torch

        largest = logits.amax(-1, keepdim=True).float()
        shares = self.wide[: len(logits)]
        if logits.data_ptr() != shares.data_ptr():
            shares.copy_(logits)
        torch.softmax(shares, -1, out=shares)
        # The largest share is at least 1 / vocabulary, so that its logarithm is exact.
        return shares, largest - shares.amax(-1, keepdim=True).log()

    def hidden_gradient(self, upper: Any) -> Any:
        """That of the hidden states for `upper`, that of the logits before scale and softcap."""
        weight = self.given[1]
        return self.product[: len(upper)].copy_(upper) @ weight


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
            chunks = _Chunks(hidden, weight, bias, scale, softcap, labels)
            for logits, slope, answers, place in chunks:
                chosen, lost = chunks.chosen(logits, answers, place)
                correct += _likeliest(logits, answers, chosen).sum()
                shares, rest = chunks.shares_of(logits)
                total -= _log_share(chosen, lost, rest).sum()
                shares.scatter_add_(1, answers, torch.full_like(rest, -1.0))
                if slope is not None:
                    shares *= slope
                gradient[place] = chunks.hidden_gradient(shares)
            context.save_for_backward(gradient)
            context.factor = scale / count
            context.mark_non_differentiable(correct)
            return total / count, correct

        @staticmethod
        def backward(context: Any, upper: Any, _: Any) -> Any:
            (gradient,) = context.saved_tensors
            return (gradient * (upper * context.factor), None, None, None, None, None, None)

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
            chunks = _Chunks(hidden, weight, bias, scale, softcap, labels)
            for logits, slope, answers, place in chunks:
                chosen, lost = chunks.chosen(logits, answers, place)
                figures[1, place] = logits.mean(-1, dtype=torch.float32)
                figures[2, place] = _likeliest(logits, answers, chosen)[:, 0].float()
                # `shares_of` overwrites logits of type float32.
                given = logits.clone() if logits.dtype == torch.float32 else logits
                shares, rest = chunks.shares_of(logits)
                found[place] = _log_share(chosen, lost, rest)[:, 0]
                # Of the row, the logarithm of the sum less the mean of the logits by their shares.
                mean = torch.bmm(shares[:, None], given[:, :, None].float())[:, 0, 0]
                figures[0, place] = rest[:, 0] - mean
                if wanted:
                    shares.neg_().scatter_add_(1, answers, torch.ones_like(rest))
                    if slope is not None:
                        shares *= slope
                    if scale != 1.0:
                        shares *= scale
                    gradient[place] = chunks.hidden_gradient(shares)
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
        chunks = _Chunks(hidden, head.weight, head.bias, scale, softcap, labels)
        for logits, _, answers, place in chunks:
            chosen, lost = chunks.chosen(logits, answers, place)
            found[place] = _log_share(chosen, lost, chunks.shares_of(logits)[1])[:, 0]
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


def _log_share(chosen: Any, lost: Any, rest: Any) -> Any:
    """The logarithm of the share of the logit `chosen`, where `rest` is that of the denominator, with what
    rounding has `lost` of that logit put back into both: of all logits, its error alone is not averaged."""
    found = chosen.float() - rest
    return found if lost is None else found + lost - (found.exp() * lost.expm1()).log1p()


def _likeliest(logits: Any, answers: Any, chosen: Any) -> Any:
    """Whether each of `answers` (tokens, 1), whose logit is `chosen`, is the likeliest: of equal ones the
    first."""
    likeliest = logits.amax(-1, keepdim=True) == chosen
    # The place of the largest takes much longer to find than its value.
    (rows,) = likeliest[:, 0].nonzero(as_tuple=True)
    likeliest[rows] = logits[rows].argmax(-1, keepdim=True) == answers[rows]
    return likeliest


def output_scale(inner: Any) -> tuple[float, float | None]:
    """What the model `inner` multiplies its logits with, and their softcap."""
    config = inner.config.get_text_config()
    scale = getattr(config, "logit_scale", None) or 1.0
    return scale, getattr(config, "final_logit_softcapping", None)
