"""The loss, or the log-probabilities, of the labelled tokens only, with gradients computed in the same pass.

With a large vocabulary the logits are most of a small model's work. Here those of the prompt are not
computed, and those of the answer are computed once, in chunks; autograd would keep all of them or compute
them twice. The output layer must be frozen: it gets no gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

# Logits of a chunk: 32 MiB as float32.
LOGITS = 1 << 23
# On a CPU, the most rows of a chunk: enough for a quick product of matrices. Of 32 to 511, 128 to 256 took
# least time with 16,000 words.
ROWS = 192
# On a CPU, the logits of a block: 4 MiB as float32, which stays in its cache between passes over it.
BLOCK = 1 << 20


class _Block(NamedTuple):
    """Rows of a chunk: their `logits` `softcap(scale * (hidden @ weight.T + bias))`, float32, which
    `_shares_of` overwrites; the `largest` of each row and the `slope` of the softcap at each (None without
    one); `labels` (tokens, 1), and the `place` of the rows. `product` is what the logits were made of."""

    logits: Any
    largest: Any
    slope: Any
    labels: Any
    place: slice
    product: Any


class _Blocks:
    """The rows of `hidden` with their `labels`, multiplied chunk by chunk and then a few at a time, in memory
    that the next ones use again.

    With `gradient`, like `hidden`, that of the hidden states is written to it, from what `_put` has left of
    each block.
    """

    def __init__(
        self,
        hidden: Any,
        weight: Any,
        bias: Any,
        scale: float,
        softcap: float | None,
        labels: Any,
        gradient: Any = None,
    ) -> None:
        import torch

        self.given = hidden, weight, bias, scale, softcap, labels
        self.gradient = gradient
        on_cpu, words = weight.device.type == "cpu", weight.shape[0]
        self.size = max(1, min(LOGITS // words, ROWS if on_cpu else LOGITS, len(labels)))
        self.block = max(1, min(BLOCK // words, self.size)) if on_cpu else self.size
        self.product = torch.empty((self.size, words), dtype=weight.dtype, device=weight.device)
        # The same as float32.
        self.wide = self.product[: self.block].float()

    def __iter__(self) -> Iterator[_Block]:
        import torch

        hidden, weight, bias, *_, labels = self.given
        for start in range(0, len(labels), self.size):
            rows = slice(start, min(start + self.size, len(labels)))
            product = self.product[: rows.stop - start]
            torch.mm(hidden[rows].to(weight.dtype), weight.t(), out=product)
            if bias is not None:
                product += bias
            for first in range(0, len(product), self.block):
                yield self._block(product[first : first + self.block], start + first)
            if self.gradient is not None:
                self.gradient[rows] = product @ weight

    def _block(self, product: Any, start: int) -> _Block:
        """The block of the rows that begin at `start`."""
        import torch

        *_, scale, softcap, labels = self.given
        place = slice(start, start + len(product))
        logits = product if product.dtype == self.wide.dtype else self.wide[: len(product)].copy_(product)
        slope = None
        if scale != 1.0:
            logits *= scale
        if softcap is not None:
            torch.tanh(logits.div_(softcap), out=logits)
            slope = 1 - logits * logits
            logits *= softcap
        return _Block(logits, logits.amax(-1, keepdim=True), slope, labels[place, None], place, product)

    def chosen(self, block: _Block) -> tuple[Any, Any]:
        """The logits of the labels (tokens, 1), and what rounding took from each; None where it took nothing
        or that is not known."""
        import torch

        found = block.logits.gather(1, block.labels)
        hidden, weight, bias, scale, softcap, _ = self.given
        if weight.dtype == torch.float32 or scale != 1.0 or softcap is not None:
            return found, None
        chosen = weight[block.labels[:, 0]].float()
        exact = torch.einsum("th,th->t", hidden[block.place].float(), chosen)[:, None]
        if bias is not None:
            exact += bias[block.labels]
        return found, exact - found


def _shares_of(block: _Block) -> tuple[Any, Any]:
    """The softmax of the logits, in their place, and the logarithms of its denominators (tokens, 1)."""
    import torch

    shares = torch.softmax(block.logits, -1, out=block.logits)
    # The largest share is at least 1 / vocabulary, so that its logarithm is exact.
    return shares, block.largest - shares.amax(-1, keepdim=True).log()


def _put(block: _Block, upper: Any, scale: float) -> None:
    """Sets the gradient of a block's logits, of which `upper` is that of what scale and softcap made of them,
    and may be overwritten."""
    if block.slope is not None:
        upper *= block.slope
    if scale != 1.0:
        upper *= scale
    if upper.data_ptr() != block.product.data_ptr():
        block.product.copy_(upper)


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
            blocks = _Blocks(hidden, weight, bias, scale, softcap, labels, gradient)
            for block in blocks:
                chosen, lost = blocks.chosen(block)
                correct += _likeliest(block, chosen).sum()
                shares, rest = _shares_of(block)
                total -= _log_share(chosen, lost, rest).sum()
                _put(block, shares.scatter_add_(1, block.labels, torch.full_like(rest, -1.0)), scale)
            context.save_for_backward(gradient)
            context.count = count
            context.mark_non_differentiable(correct)
            return total / count, correct

        @staticmethod
        def backward(context: Any, upper: Any, _: Any) -> Any:
            (gradient,) = context.saved_tensors
            return (gradient * (upper / context.count), None, None, None, None, None, None)

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
            blocks = _Blocks(hidden, weight, bias, scale, softcap, labels, gradient)
            for block in blocks:
                place = block.place
                chosen, lost = blocks.chosen(block)
                figures[1, place] = block.logits.mean(-1)
                figures[2, place] = _likeliest(block, chosen)[:, 0].float()
                logits = block.logits.clone()
                shares, rest = _shares_of(block)
                found[place] = _log_share(chosen, lost, rest)[:, 0]
                # Of the row, the logarithm of the sum less the mean of the logits by their shares.
                mean = torch.bmm(shares[:, None], logits[:, :, None])[:, 0, 0]
                figures[0, place] = rest[:, 0] - mean
                if wanted:
                    _put(block, shares.neg_().scatter_add_(1, block.labels, torch.ones_like(rest)), scale)
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
        blocks = _Blocks(hidden, head.weight, head.bias, scale, softcap, labels)
        for block in blocks:
            chosen, lost = blocks.chosen(block)
            found[block.place] = _log_share(chosen, lost, _shares_of(block)[1])[:, 0]
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
    found = chosen - rest
    return found if lost is None else found + lost - (found.exp() * lost.expm1()).log1p()


def _likeliest(block: _Block, chosen: Any) -> Any:
    """Whether each of the labels, whose logits are `chosen`, is the likeliest (tokens, 1): of equal ones the
    first."""
    likeliest = block.largest == chosen
    # The place of the largest takes much longer to find than its value.
    (rows,) = likeliest[:, 0].nonzero(as_tuple=True)
    likeliest[rows] = block.logits[rows].argmax(-1, keepdim=True) == block.labels[rows]
    return likeliest


def output_scale(inner: Any) -> tuple[float, float | None]:
    """What the model `inner` multiplies its logits with, and their softcap."""
    config = inner.config.get_text_config()
    scale = getattr(config, "logit_scale", None) or 1.0
    return scale, getattr(config, "final_logit_softcapping", None)
