"""How likely a model finds given answers.

Only the logits of the learned tokens are computed, a few at a time: with a large vocabulary those of a long
row take more memory than the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.data.encode import IGNORED
from trainer.kernels.logits import body_of, replaced_forward, with_states
from trainer.kernels.loss import LOGITS
from trainer.libraries.peft import without_adapter

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel
    from transformers.utils import ModelOutput

# Most tokens of a batch of several rows, with its padding.
BATCH_TOKENS = 2048


@dataclass(frozen=True)
class Likelihood:
    """The negative log-likelihood of some tokens, in nats, and how many they are."""

    nats: float
    tokens: int

    def __add__(self, other: Likelihood) -> Likelihood:
        return Likelihood(self.nats + other.nats, self.tokens + other.tokens)

    @property
    def loss(self) -> float | None:
        """The mean of a token; None without tokens."""
        return self.nats / self.tokens if self.tokens else None


NONE = Likelihood(0.0, 0)


def likelihoods(
    model: PreTrainedModel,
    sequences: list[tuple[list[int], list[int]]],
    *,
    writes: bool,
    pad: int,
    progress: Callable[[float], None],
) -> list[Likelihood]:
    """The likelihood of the labels of each sequence (`input_ids`, `labels`).

    With `writes`, the labels are what an encoder-decoder writes; otherwise they are those of the sequence's
    own tokens, of which IGNORED ones do not count. `progress` is called with the share that is done.
    """
    import torch

    device = next(model.parameters()).device
    found = [NONE] * len(sequences)
    done = 0
    for batch in _batches(sequences):
        chosen = [sequences[index] for index in batch]
        ids = _padded([row for row, _ in chosen], pad, device)
        labels = _padded([row for _, row in chosen], IGNORED, device)
        mask = _padded([[1] * len(row) for row, _ in chosen], 0, device)
        with torch.inference_mode():
            rows, losses = _losses(model, ids, mask, labels, writes)
        for row, index in enumerate(batch):
            own = losses[rows == row]
            found[index] = Likelihood(float(own.sum()), len(own))
        done += len(batch)
        progress(done / len(sequences))
    return found


def _losses(
    model: PreTrainedModel, ids: Tensor, mask: Tensor, labels: Tensor, writes: bool
) -> tuple[Tensor, Tensor]:
    """The row of each learned token of a batch, and its negative log-likelihood in nats."""
    import torch

    inner = without_adapter(model)
    given = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
    if writes:
        parts = [inner.get_encoder()]
        given["decoder_input_ids"] = inner.prepare_decoder_input_ids_from_labels(labels)
    else:
        parts = []
        # A token predicts the next one.
        labels = labels[:, 1:]
    rows, positions = (labels != IGNORED).nonzero(as_tuple=True)
    answers = labels[rows, positions]
    size = max(1, LOGITS // inner.config.get_text_config(decoder=True).vocab_size)
    chunk = slice(0, 0)

    def chosen(output: ModelOutput) -> ModelOutput:
        """`output` with the states of the chunk's tokens alone, as one row."""
        return with_states(output, output.last_hidden_state[rows[chunk], positions[chunk]][None])

    losses = torch.empty(len(answers), dtype=torch.float32, device=ids.device)
    with ExitStack() as stack:
        for part in parts:
            stack.enter_context(_computed_once(part, lambda output: output))
        stack.enter_context(_computed_once(body_of(inner), chosen))
        for start in range(0, len(answers), size):
            chunk = slice(start, start + size)
            logits = inner(**given).logits[0].float()
            losses[chunk] = torch.nn.functional.cross_entropy(logits, answers[chunk], reduction="none")
    return rows, losses


@contextmanager
def _computed_once(module: Module, change: Callable[[ModelOutput], ModelOutput]) -> Iterator[None]:
    """Lets `module` compute its output only the first time that it is called, and then repeat it; each time
    it returns what `change` makes of it. So what a model does with its logits need not be known here."""
    compute = module.forward
    outputs: list[ModelOutput] = []

    def forward(*args: object, **kwargs: object) -> ModelOutput:
        if not outputs:
            outputs.append(compute(*args, **kwargs))
        return change(outputs[0])

    with replaced_forward(module, forward):
        yield


def _batches(sequences: list[tuple[list[int], list[int]]]) -> Iterator[list[int]]:
    """The indices of the sequences in batches of similar length, the longest first."""
    lengths = [max(len(ids), len(labels)) for ids, labels in sequences]
    batch: list[int] = []
    for index in sorted(range(len(sequences)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _padded(rows: list[list[int]], fill: int, device: torch.device) -> Tensor:
    import torch

    width = max(map(len, rows))
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows], device=device)
