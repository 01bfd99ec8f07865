"""The loss, or the log-probabilities, of the labelled tokens only, with gradients computed in the same pass.

With a large vocabulary the logits are most of a small model's work. Here those of the prompt are not
computed, and those of the answer are computed once, in chunks; autograd would keep all of them or compute
them twice. The output layer must be frozen: it gets no gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import Structure, c_float, c_int32, c_int64, c_void_p
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from trainer.kernels import native
from trainer.kernels.logits import logits_of
from trainer.kernels.native import fields

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.kernels.context import Context

    class _Context(Context, Protocol):
        count: Tensor | int


# Logits of a chunk: 32 MiB as float32.
LOGITS = 1 << 23
# On a CPU, the most rows of a chunk: enough for a quick product of matrices. Of 32 to 511, 128 to 256 took
# least time with a vocabulary of 16,000.
ROWS = 192
# On a CPU, the logits of a block: 4 MiB as float32, which stays in its cache between passes over it.
BLOCK = 1 << 20


class _Operands(Structure):
    """`SoftmaxOperands` of native/kernels/softmax.cpp."""

    _fields_ = [
        *fields(c_void_p, "logits", "labels"),
        *fields(c_void_p, "chosen", "sum", "mean", "expected", "correct"),
        *fields(c_int64, "rows", "vocab_size"),
        *fields(c_float, "sign"),
        *fields(c_int32, "type", "threads"),
    ]


SOFTMAX = native.Kernel("softmax", _Operands)


class _RowStatistics(NamedTuple):
    """What the logits `softcap(scale * (hidden @ weight.T + bias))` of the rows at `rows` say of their
    labels, each (rows) in float32: the label's logit `chosen`, and what rounding has `lost` of it (None where
    it took nothing or that is not known); the logarithm of the `sum` of exponentials; the `mean` of the
    logits, and that `expected` by the softmax (both None unless asked for); and whether the label is the
    `correct`, of equal ones the first, 1 or 0."""

    rows: slice
    chosen: Tensor
    lost: Tensor | None
    sum: Tensor
    mean: Tensor | None
    expected: Tensor | None
    correct: Tensor

    def log_probability(self) -> Tensor:
        """The log-probabilities, with what rounding has lost of the label's logit put back into both that and
        the sum: of all logits, its error alone is not averaged."""
        found = self.chosen - self.sum
        if self.lost is None:
            return found
        return found + self.lost - (found.exp() * self.lost.expm1()).log1p()


class _Rows:
    """The rows of `hidden` with their `labels`, multiplied chunk by chunk in memory that the next one uses
    again. Iterating gives the statistics of a chunk or a part of it.

    With `gradient`, like `hidden`, that of the hidden states is written to it, where that of the logits is
    `sign` times the softmax less 1 at the label; and that of the weight is added to `of_weight`, if that is
    given, too. With `every` they include means. With `allowed`
    (tokens, words), as `unpacked` reads it, the softmax is over these tokens alone; means are over all.
    """

    def __init__(
        self,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        scale: float,
        softcap: float | None,
        labels: Tensor,
        gradient: Tensor | None = None,
        sign: float = 0.0,
        every: bool = False,
        allowed: Tensor | None = None,
        of_weight: Tensor | None = None,
    ) -> None:
        self.of_weight = of_weight
        self.given = hidden, weight, bias
        self.scale, self.softcap, self.labels, self.allowed = scale, softcap, labels, allowed
        self.gradient, self.sign, self.every = gradient, sign if gradient is not None else 0.0, every

    def __iter__(self) -> Iterator[_RowStatistics]:
        import torch

        hidden, weight, bias = self.given
        labels, vocab_size = self.labels, weight.shape[0]
        most = ROWS if weight.device.type == "cpu" else LOGITS
        size = max(1, min(LOGITS // vocab_size, most, len(labels)))
        memory = torch.empty((size, vocab_size), dtype=weight.dtype, device=weight.device)
        compute = self._by_kernel if self._has_kernel(memory) else self._by_torch
        for start in range(0, len(labels), size):
            rows = slice(start, min(start + size, len(labels)))
            product = memory[: rows.stop - start]
            torch.mm(hidden[rows].to(weight.dtype), weight.t(), out=product)
            if bias is not None:
                product += bias
            yield from compute(product, rows)
            if self.gradient is not None:
                self.gradient[rows] = product @ weight
            if self.of_weight is not None:
                self.of_weight.addmm_(product.t(), hidden[rows].to(weight.dtype))

    def _has_kernel(self, product: Tensor) -> bool:
        plain = self.scale == 1.0 and self.softcap is None and self.allowed is None
        return plain and SOFTMAX.computes(product)

    def _by_kernel(self, product: Tensor, rows: slice) -> Iterator[_RowStatistics]:
        chosen, *others = softmax_by_kernel(product, self.labels[rows], self.sign)
        yield _RowStatistics(rows, chosen, self._lost(rows, chosen), *others)

    def _by_torch(self, product: Tensor, rows: slice) -> Iterator[_RowStatistics]:
        """A few rows at a time on a CPU."""
        on_cpu, vocab_size = product.device.type == "cpu", product.shape[1]
        size = max(1, min(BLOCK // vocab_size, len(product))) if on_cpu else len(product)
        for first in range(0, len(product), size):
            part = product[first : first + size]
            yield self._of_block(part, slice(rows.start + first, rows.start + first + len(part)))

    def _of_block(self, product: Tensor, rows: slice) -> _RowStatistics:
        import torch

        labels, scale, softcap = self.labels[rows, None], self.scale, self.softcap
        logits, slope = product.float(), None
        if scale != 1.0:
            logits *= scale
        if softcap is not None:
            torch.tanh(logits.div_(softcap), out=logits)
            slope = 1 - logits * logits
            logits *= softcap
        mean = logits.mean(-1) if self.every else None
        kept = logits.clone() if self.every else None
        if self.allowed is not None:
            logits.masked_fill_(~unpacked(self.allowed[rows], logits.shape[1]), -torch.inf)
        largest, chosen = logits.amax(-1, keepdim=True), logits.gather(1, labels)
        correct = largest == chosen
        # The rows of the largest takes much longer to find than its value.
        (some,) = correct[:, 0].nonzero(as_tuple=True)
        correct[some] = logits[some].argmax(-1, keepdim=True) == labels[some]
        probabilities = torch.softmax(logits, -1, out=logits)
        # The largest share is at least 1 / vocabulary, so that its logarithm is exact.
        total = (largest - probabilities.amax(-1, keepdim=True).log())[:, 0]
        expected = None if kept is None else torch.bmm(probabilities[:, None], kept[:, :, None])[:, 0, 0]
        if self.sign != 0.0:
            # In the memory of the probabilities.
            of_logits = probabilities.scatter_add_(1, labels, torch.full_like(largest, -1.0))
            of_logits.mul_(self.sign * scale)
            if slope is not None:
                of_logits *= slope
            if of_logits.data_ptr() != product.data_ptr():
                product.copy_(of_logits)
        chosen = chosen[:, 0]
        lost = self._lost(rows, chosen)
        return _RowStatistics(rows, chosen, lost, total, mean, expected, correct[:, 0].float())

    def _lost(self, rows: slice, chosen: Tensor) -> Tensor | None:
        """What rounding took from the labels' logits."""
        import torch

        hidden, weight, bias = self.given
        if weight.dtype == torch.float32 or self.scale != 1.0 or self.softcap is not None:
            return None
        labels = self.labels[rows]
        exact = torch.einsum("th,th->t", hidden[rows].float(), weight[labels].float())
        if bias is not None:
            exact += bias[labels]
        return exact - chosen


@lru_cache(maxsize=1)
def labelled_loss_class() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class LabelledLoss(torch.autograd.Function):
        """`apply(hidden, weight, bias, scale, softcap, labels, count)`: cross entropy of the logits
        `softcap(scale * (hidden @ weight.T + bias))` summed over the tokens and divided by `count`, and how
        many tokens were predicted correctly. hidden (tokens, size), weight (vocabulary, size). Both have
        gradients."""

        @staticmethod
        def forward(
            context: _Context,
            hidden: Tensor,
            weight: Tensor,
            bias: Tensor | None,
            scale: float,
            softcap: float | None,
            labels: Tensor,
            count: Tensor | int,
        ) -> tuple[Tensor, Tensor]:
            gradient = torch.empty_like(hidden)
            of_weight = torch.zeros_like(weight) if context.needs_input_grad[1] else None
            total = torch.zeros((), dtype=torch.float32, device=hidden.device)
            correct = torch.zeros((), dtype=torch.float32, device=hidden.device)
            given = hidden, weight, bias, scale, softcap, labels, gradient, 1.0
            for part in _Rows(*given, of_weight=of_weight):
                total -= part.log_probability().sum()
                correct += part.correct.sum()
            context.save_for_backward(gradient, of_weight)
            context.count = count
            correct = correct.long()
            context.mark_non_differentiable(correct)
            return total / count, correct

        @staticmethod
        def backward(context: _Context, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
            gradient, of_weight = context.saved_tensors
            factor = grad_output / context.count
            # There is one backward pass, and the weight may be large.
            of_weight = None if of_weight is None else of_weight.mul_(factor)
            return (gradient * factor, of_weight, None, None, None, None, None)

    return LabelledLoss


@lru_cache(maxsize=1)
def log_probability_class() -> type[torch.autograd.Function]:
    """The autograd function, in a function because its base needs torch."""
    import torch

    class LogProbability(torch.autograd.Function):
        """`apply(hidden, weight, bias, scale, softcap, labels, allowed)`: the log-probability of each label
        by the logits `softcap(scale * (hidden @ weight.T + bias))`, among those of `allowed` (tokens, words)
        unless it is None, float32 (tokens); and figures without a gradient (3, tokens): the entropies, the
        means of the logits, and whether each label is the correct. hidden (tokens, size), weight (vocabulary,
        size)."""

        @staticmethod
        def forward(
            context: Context,
            hidden: Tensor,
            weight: Tensor,
            bias: Tensor | None,
            scale: float,
            softcap: float | None,
            labels: Tensor,
            allowed: Tensor | None,
        ) -> tuple[Tensor, Tensor]:
            wanted = context.needs_input_grad[0]
            gradient = torch.empty_like(hidden) if wanted else None
            found = torch.empty(len(labels), dtype=torch.float32, device=hidden.device)
            figures = torch.empty(3, len(labels), dtype=torch.float32, device=hidden.device)
            given = hidden, weight, bias, scale, softcap, labels, gradient, -1.0
            for part in _Rows(*given, every=True, allowed=allowed):
                found[part.rows] = part.log_probability()
                assert part.expected is not None and part.mean is not None
                entropy = part.sum - part.expected
                figures[:, part.rows] = torch.stack([entropy, part.mean, part.correct])
            context.save_for_backward(gradient)
            context.mark_non_differentiable(figures)
            return found, figures

        @staticmethod
        def backward(context: Context, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
            (gradient,) = context.saved_tensors
            return (gradient * grad_output[:, None].to(gradient.dtype), *[None] * 6)

    return LogProbability


def labelled_loss(
    inner: PreTrainedModel, hidden: Tensor, labels: Tensor, count: Tensor | int
) -> tuple[Tensor, Tensor]:
    """The loss of `labels` after `hidden` (tokens, size) by the output layer of the model `inner`, summed and
    divided by `count`, and how many of them are the correct tokens."""
    import torch

    if has_frozen_head(inner) or _has_trained_head(inner):
        head, (before, after, softcap) = inner.get_output_embeddings(), logits_of(inner)
        hidden = hidden if before == 1.0 else hidden * before
        return labelled_loss_class().apply(hidden, head.weight, head.bias, after, softcap, labels, count)
    logits = all_logits(inner, hidden)
    loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / count
    return loss, (logits.argmax(-1) == labels).sum()


def log_probabilities(
    inner: PreTrainedModel,
    hidden: Tensor,
    labels: Tensor,
    figures: bool = True,
    allowed: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The log-probability of each of `labels` after `hidden` (tokens, size), by the output layer of the model
    `inner`, as float32; and, with `figures`, those of `LogProbability`, otherwise None. With `allowed`
    (tokens, words), as `unpacked` reads it, among these tokens alone."""
    import torch

    if has_frozen_head(inner):
        head, (before, after, softcap) = inner.get_output_embeddings(), logits_of(inner)
        hidden = hidden if before == 1.0 else hidden * before
        given = head.weight, head.bias, after, softcap, labels
        if figures or hidden.requires_grad:
            return log_probability_class().apply(hidden, *given, allowed)
        found = torch.empty(len(labels), dtype=torch.float32, device=hidden.device)
        for part in _Rows(hidden, *given, allowed=allowed):
            found[part.rows] = part.log_probability()
        return found, None
    logits = all_logits(inner, hidden)
    masked = logits
    if allowed is not None:
        masked = logits.masked_fill(~unpacked(allowed, logits.shape[1]), -torch.inf)
    every = masked.log_softmax(-1)
    found = every.gather(1, labels[:, None])[:, 0]
    if not figures:
        return found, None
    with torch.no_grad():
        entropy = torch.special.entr(every.exp()).sum(-1)
        statistics = torch.stack([entropy, logits.mean(-1), (masked.argmax(-1) == labels).float()])
    return found, statistics


def unpacked(bits: Tensor, size: int) -> Tensor:
    """Which of `size` tokens are among `bits` (rows, words) of 32 tokens each, the least significant bit
    first, as booleans (rows, size)."""
    import torch

    return (bits[:, :, None] >> torch.arange(32, device=bits.device) & 1).bool().flatten(1)[:, :size]


def all_logits(inner: PreTrainedModel, hidden: Tensor) -> Tensor:
    """The logits of every token of the vocabulary after `hidden` (tokens, size), by the output layer of the
    model `inner`, as float32."""
    logits = logits_of(inner)
    hidden = hidden if logits.before == 1.0 else hidden * logits.before
    return logits.of(inner.get_output_embeddings()(hidden))


def has_frozen_head(inner: PreTrainedModel) -> bool:
    """Whether the output layer of `inner` is a plain linear layer that is not trained."""
    import torch

    head = inner.get_output_embeddings()
    return type(head) is torch.nn.Linear and not any(part.requires_grad for part in head.parameters())


def _has_trained_head(inner: PreTrainedModel) -> bool:
    """Whether the output layer of `inner` is a plain linear layer without bias that is trained on a CPU. On a
    GPU it is computed in another type than its own."""
    import torch

    head = inner.get_output_embeddings()
    return type(head) is torch.nn.Linear and head.bias is None and head.weight.device.type == "cpu"


def softmax_by_kernel(logits: Tensor, labels: Tensor, sign: float) -> Tensor:
    """What the softmax of `logits` (rows, vocab_size), without gaps, says of the `labels` of the rows: the
    label's logit, the logarithm of the sum of exponentials, the mean of the logits, their mean by the
    softmax, and whether the label's is the first of the largest; float32 (5, rows).

    Logits become `sign` times the softmax less 1 at the label, unless `sign` is 0. IndexError where a label
    is outside of the vocabulary.
    """
    import torch

    rows, vocab_size = logits.shape
    fits = labels.shape == (rows,) and labels.dtype == torch.int64 and logits.is_contiguous()
    native.require(fits, "logits and labels")
    # A model's vocabulary may be smaller than its tokenizer's.
    if rows > 0 and not 0 <= int(labels.min()) <= int(labels.max()) < vocab_size:
        raise IndexError(f"a label is none of the model's {vocab_size} tokens")
    found = torch.empty(5, rows)
    labels = labels.contiguous()
    figures = [figure.data_ptr() for figure in found]
    others = rows, vocab_size, sign, native.type_of(logits), native.threads()
    SOFTMAX(logits.data_ptr(), labels.data_ptr(), *figures, *others)
    return found
