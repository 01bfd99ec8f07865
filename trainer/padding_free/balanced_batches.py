"""Divides the rows of each optimizer step over its micro-batches so that all are about as much work.

Ranks that train a micro-batch each then wait less for one another. A step has the same rows as before, and
its loss is that of all of its tokens, so only rounding differs. The library's BatchRebalanceSampler counts
padding, which this path does not compute, and repeats rows to fill up the last step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy
from torch.utils.data import BatchSampler

from trainer.data.lengths import labelled_counts, list_lengths
from trainer.libraries.accelerate import replace_sampler

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from torch.utils.data import DataLoader
    from transformers import PreTrainedModel

# Exchanges of rows after they are placed. A step of many rows is even without them.
EXCHANGES = 8
# A difference of micro-batches that is no more than this share of the larger one is left.
EVEN = 0.01


@dataclass(frozen=True)
class Rows:
    """By row: its `lengths` in tokens, and the `work` of training on it, in any unit. No micro-batch gets
    more than `most` tokens, those of the longest rows that fill one: so much memory was tried."""

    lengths: list[int]
    work: list[float]
    most: int


class BalancedBatches(BatchSampler):
    """The batches of a BatchSampler, `per_step` of them at a time balanced by the work of their `rows`."""

    per_step: int
    rows: Rows

    def __iter__(self) -> Iterator[list[int]]:
        batches = super().__iter__()
        while step := list(islice(batches, self.per_step)):
            yield from balanced(step, self.rows)


def balanced(step: list[list[int]], rows: Rows) -> list[list[int]]:
    """The rows of `step` in as many batches, whose numbers of rows may differ. Within a batch the rows keep
    their order."""
    indices = [row for batch in step for row in batch]
    made = evened(indices, len(step), rows.work)
    if any(sum(rows.lengths[row] for row in batch) > rows.most for batch in made):
        # These have no more: a batch that gets one row too many was the shortest, another has a row too few,
        # and with that row it would have as many tokens.
        made = evened(indices, len(step), rows.lengths)
    order = {row: number for number, row in enumerate(indices)}
    return [sorted(batch, key=order.__getitem__) for batch in made]


def evened(rows: list[int], count: int, work: Sequence[float]) -> list[list[int]]:
    """`rows` in `count` batches with about as much `work` each.

    The largest row is placed first, each in the batch with the least work (R. L. Graham, Bounds on
    Multiprocessing Timing Anomalies, 1969). Then rows of the largest and the smallest batch change places.
    """
    made: list[list[int]] = [[] for _ in range(count)]
    totals = [0.0] * count
    for row in sorted(rows, key=lambda row: -work[row]):
        least = min(range(count), key=totals.__getitem__)
        made[least].append(row)
        totals[least] += work[row]
    for _ in range(EXCHANGES):
        largest, smallest = (choose(range(count), key=totals.__getitem__) for choose in (max, min))
        gap = totals[largest] - totals[smallest]
        moved = {
            (row, other): work[row] - (0 if other is None else work[other])
            for row in made[largest]
            for other in (None, *made[smallest])
        }
        moved = {pair: change for pair, change in moved.items() if 0 < change < gap}
        if not moved or gap <= EVEN * totals[largest]:
            break
        row, other = min(moved, key=lambda pair: abs(gap - 2 * moved[pair]))
        change = moved[row, other]
        for batch, given, taken in ((largest, row, other), (smallest, other, row)):
            made[batch] = [each for each in made[batch] if each != given] + ([] if taken is None else [taken])
        totals[largest] -= change
        totals[smallest] += change
    return made


def rows_of(dataset: Dataset, model: PreTrainedModel, size: int) -> Rows:
    """The rows of `dataset` for `model`, a causal model, in micro-batches of `size` rows.

    The work of a row is that of its multiplications: in the layers for each token, in the output layer for
    each labelled token, and in attention for each pair of tokens. Its unit is a token in the layers.
    """
    config = model.config.get_text_config()
    hidden, layers = (getattr(config, name, 0) for name in ("hidden_size", "num_hidden_layers"))
    output = config.vocab_size * hidden
    inner = model.num_parameters(exclude_embeddings=True) - (0 if config.tie_word_embeddings else output)
    lengths = list_lengths(dataset, "input_ids")
    pairs = 2 * hidden * layers * lengths.astype(float) ** 2
    work = lengths + (output * labelled_counts(dataset) + pairs) / max(inner, 1)
    most = int(numpy.sort(lengths)[-size:].sum())
    return Rows(lengths.tolist(), work.tolist(), most)


def balance_batches(
    loader: DataLoader[dict[str, Tensor]], per_step: int, rows: Rows
) -> DataLoader[dict[str, Tensor]]:
    """`loader`, prepared by accelerate, with BalancedBatches of `rows`.

    `per_step` is how many micro-batches all ranks have in a step.
    """
    return replace_sampler(loader, BatchSampler, BalancedBatches, per_step=per_step, rows=rows)
