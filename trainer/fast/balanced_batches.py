"""Divides the rows of each optimizer step over its micro-batches so that all have about as many tokens.

Ranks that train a micro-batch each then wait less for one another, and the largest micro-batch, which decides
the memory, is smaller. A step has the same rows as before, and its loss is that of all of its tokens, so only
rounding differs. The library's BatchRebalanceSampler counts padding, which this path does not compute, and
repeats rows to fill up the last step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from torch.utils.data import BatchSampler

from trainer.data.lengths import list_lengths


class BalancedBatches(BatchSampler):
    """The batches of a BatchSampler, `per_step` of them at a time balanced by the `lengths` of their rows."""

    per_step: int
    lengths: Any

    def __iter__(self) -> Iterator[list[int]]:
        batches = super().__iter__()
        while step := list(islice(batches, self.per_step)):
            yield from balanced(step, self.lengths)


def balanced(step: list[list[int]], lengths: Any) -> list[list[int]]:
    """The rows of `step`, in batches of the same sizes.

    The longest row is placed first, each in the batch with the fewest tokens that has room (R. L. Graham,
    Bounds on Multiprocessing Timing Anomalies, 1969). Within a batch the rows keep their order.
    """
    rows = [row for batch in step for row in batch]
    made: list[list[int]] = [[] for _ in step]
    totals = [0] * len(step)
    for place in sorted(range(len(rows)), key=lambda place: -lengths[rows[place]]):
        open_ = (number for number, batch in enumerate(step) if len(made[number]) < len(batch))
        target = min(open_, key=totals.__getitem__)
        made[target].append(place)
        totals[target] += lengths[rows[place]]
    return [[rows[place] for place in sorted(places)] for places in made]


def balance_batches(loader: Any, dataset: Any, per_step: int) -> Any:
    """`loader` of `dataset`, prepared by accelerate, with BalancedBatches.

    `per_step` is how many micro-batches all ranks have in a step.
    """
    sampler = loader.batch_sampler
    # accelerate divides what the sampler of one process gives.
    sampler = getattr(sampler, "batch_sampler", sampler)
    if type(sampler) is not BatchSampler:
        raise TypeError(f"the trainer makes batches with {type(sampler).__name__}")
    sampler.__class__ = BalancedBatches
    sampler.per_step, sampler.lengths = per_step, list_lengths(dataset, "input_ids").tolist()
    return loader
