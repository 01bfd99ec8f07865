"""How far a student's predictions are from its teacher's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from trainer.kernels.loss import all_logits
from trainer.training.teaching.asked import keys_in

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.training.teaching.kept import Kept

# Predicted tokens whose logits are computed at once: of others, the backward pass computes them again.
CHUNK = 256
# The log-probability of what is impossible: 0 times it is 0, where 0 times infinity is no number.
LEAST = -1e4


def divergence(student: Tensor, teacher: Tensor, beta: float) -> Tensor:
    """The generalized Jensen-Shannon divergence (tokens) of log-probabilities (tokens, choices): the forward
    KL divergence with `beta` 0, the reverse one with 1 (Agarwal et al. 2024, equation 1, where beta weighs
    the teacher, as in TRL's DistillationTrainer)."""
    import torch

    if beta == 0.0:
        return (teacher.exp() * (teacher - student)).sum(-1)
    if beta == 1.0:
        return (student.exp() * (student - teacher)).sum(-1)
    mixed = torch.logaddexp(student + math.log1p(-beta), teacher + math.log(beta))
    of_teacher = (teacher.exp() * (teacher - mixed)).sum(-1)
    of_student = (student.exp() * (student - mixed)).sum(-1)
    return beta * of_teacher + (1 - beta) * of_student


def likeliest(logits: Tensor, kept: int) -> tuple[Tensor, Tensor]:
    """Of `logits` (tokens, words), the log-probabilities (tokens, kept + 1) of the `kept` likeliest and of
    all others together, and the numbers (tokens, kept) of these tokens. All of `words` where `kept` is that.
    """
    import torch

    every = logits.log_softmax(-1)
    if kept == every.shape[1]:
        return every.clamp(min=LEAST), torch.arange(kept, device=every.device).expand_as(every)
    tokens = every.topk(kept, dim=-1).indices
    return _with_rest(every, tokens), tokens


def _with_rest(every: Tensor, tokens: Tensor) -> Tensor:
    """The log-probabilities of `tokens` (rows, kept) in `every` (rows, words), and of all others together."""
    import torch

    rest = every.scatter(1, tokens, -torch.inf).logsumexp(-1, keepdim=True)
    return torch.cat([every.gather(1, tokens), rest], dim=1).clamp(min=LEAST)


@dataclass(frozen=True)
class Taught:
    """The loss of a student by what its teacher has said: `label_share` of it is that of the labels."""

    kept: Kept
    beta: float
    temperature: float
    label_share: float

    def __call__(
        self,
        inner: PreTrainedModel,
        hidden: Tensor,
        labels: Tensor,
        count: Tensor | int,
        inputs: dict[str, Tensor],
    ) -> tuple[Tensor, ...]:
        """The loss of `labels` (tokens) after `hidden` (tokens, size) by the output layer of the model
        `inner`, summed and divided by `count`; and sums without a gradient: how many labels are the correct
        tokens, the divergences, and the losses of the labels, in nats. `inputs` have the rows of the tokens.
        """
        import torch
        from torch.utils.checkpoint import checkpoint

        log_probabilities, tokens = self.kept.of(keys_in(inputs)) if len(labels) else (None, None)
        # Also a batch without labels reaches the trained weights.
        sums = hidden.new_zeros(4, dtype=torch.float32) + 0.0 * hidden.sum().float()
        for start in range(0, len(labels), CHUNK):
            part = slice(start, start + CHUNK)
            compute: Callable[..., Tensor] = partial(self._sums, inner)
            if torch.is_grad_enabled() and len(labels) > CHUNK:
                compute = partial(checkpoint, compute, use_reentrant=False)
            assert log_probabilities is not None
            said = torch.from_numpy(log_probabilities[part]).to(hidden.device)
            of = None if tokens is None else torch.from_numpy(tokens[part]).to(hidden.device).long()
            sums = sums + compute(hidden[part], labels[part], said, of)
        loss, *figures = sums.unbind()
        return loss / count, *(figure.detach() for figure in figures)

    def _sums(
        self, inner: PreTrainedModel, hidden: Tensor, labels: Tensor, said: Tensor, tokens: Tensor | None
    ) -> Tensor:
        """The sums (4) of a chunk: loss, correct labels, divergences and losses of the labels."""
        import torch

        logits = all_logits(inner, hidden)
        every = logits[:, : self.kept.shape.words]
        if self.temperature != 1.0:
            every = every / self.temperature
        every = every.log_softmax(-1)
        student = every.clamp(min=LEAST) if tokens is None else _with_rest(every, tokens)
        apart = divergence(student, said, self.beta).sum()
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.label_share > 0):
            of_labels = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        loss = (1 - self.label_share) * apart
        if self.label_share > 0:
            loss = loss + self.label_share * of_labels
        correct = (logits.argmax(-1) == labels).sum().float()
        return torch.stack([loss, correct, apart, of_labels])
