"""How likely a model finds given answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from trainer.data.encode import IGNORED

# Most tokens of a batch with its padding. A vocabulary of 150,000 makes 0.6 GB of 16-bit logits of them.
BATCH_TOKENS = 2048
# Tokens whose logits are converted to 32 bits at once.
CHUNK_TOKENS = 256


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
    model: Any,
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
            extra = {"labels": labels} if writes else {}
            logits = model(input_ids=ids, attention_mask=mask, **extra).logits
            if not writes:
                logits, labels = logits[:, :-1], labels[:, 1:]
            for place, index in enumerate(batch):
                found[index] = _likelihood(logits[place], labels[place])
        done += len(batch)
        progress(done / len(sequences))
    return found


def _likelihood(logits: Any, labels: Any) -> Likelihood:
    """The likelihood of one sequence's `labels`."""
    import torch

    learned = (labels != IGNORED).nonzero()[:, 0]
    nats = 0.0
    for part in learned.split(CHUNK_TOKENS):
        loss = torch.nn.functional.cross_entropy(logits[part].float(), labels[part], reduction="sum")
        nats += float(loss)
    return Likelihood(nats, len(learned))


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


def _padded(rows: list[list[int]], fill: int, device: Any) -> Any:
    import torch

    width = max(map(len, rows))
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows], device=device)
