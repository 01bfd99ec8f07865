"""Shares the batches of one process among ranks: every step has the same rows, and no row counts twice.

accelerate fills up the last batches with rows from the beginning. Here a rank without a batch gets a `Blank`,
which it computes along with the others and whose loss counts zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from accelerate.data_loader import BatchSamplerShard
from torch import Tensor

from trainer.libraries.accelerate import replace_sampler

if TYPE_CHECKING:
    from torch.utils.data import DataLoader


class Blank(dict[str, Tensor]):
    """A batch that is computed, because the others' gradients are averaged meanwhile, and counts nothing."""


class SharedBatches(BatchSamplerShard):
    """Batch i of one process goes to rank i mod `num_processes`; a rank that gets none in the last round gets
    an empty one."""

    def __len__(self) -> int:
        return -(-len(self.batch_sampler) // self.num_processes)

    def __iter__(self) -> Iterator[list[int]]:
        own: list[int] | None = None
        for number, batch in enumerate(self.batch_sampler):
            rank = number % self.num_processes
            if rank == 0:
                own = []
            if rank == self.process_index:
                own = batch
            if rank == self.num_processes - 1:
                assert own is not None
                yield own
                own = None
        if own is not None:
            yield own


# Makes a batch of rows.
Collate = Callable[[list[dict[str, Any]]], MutableMapping[str, Any]]


def share_batches(loader: DataLoader[dict[str, Tensor]]) -> DataLoader[dict[str, Tensor]]:
    """`loader`, prepared by accelerate for several ranks, with SharedBatches."""
    return replace_sampler(loader, BatchSamplerShard, SharedBatches)


def with_blanks(collate: Collate, row: Callable[[], dict[str, Any]]) -> Collate:
    """`collate`, which makes a Blank of `row()` of an empty batch."""
    return lambda rows: collate(rows) if rows else Blank(collate([row()]))
