"""How the rows of a step are divided over its micro-batches."""

import random

import pytest
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler

from trainer.fast.balanced_batches import BalancedBatches, balanced


def batches(lengths, size, per_step):
    sampler = BatchSampler(SequentialSampler(lengths), size, drop_last=False)
    sampler.__class__ = BalancedBatches
    sampler.per_step, sampler.lengths = per_step, lengths
    return sampler


@pytest.mark.parametrize(("rows", "size", "per_step"), [(64, 4, 4), (61, 4, 2), (7, 8, 2), (9, 1, 3)])
def test_a_step_has_the_same_rows_in_batches_of_the_same_sizes(rows, size, per_step):
    draw = random.Random(1)
    lengths = [int(draw.lognormvariate(4, 0.8)) for _ in range(rows)]
    plain = list(BatchSampler(SequentialSampler(lengths), size, drop_last=False))
    sampler = batches(lengths, size, per_step)
    found = list(sampler)
    assert [len(batch) for batch in found] == [len(batch) for batch in plain]
    assert len(sampler) == len(plain)
    for start in range(0, len(plain), per_step):
        steps = (made[start : start + per_step] for made in (plain, found))
        assert len({tuple(sorted(row for batch in step for row in batch)) for step in steps}) == 1
    assert found == list(sampler), "the same again"


def test_the_batches_of_a_step_are_about_as_long():
    draw = random.Random(2)
    lengths = [int(draw.lognormvariate(4, 0.8)) for _ in range(8 * 50)]

    def waits(found):
        totals = [sum(lengths[row] for row in batch) for batch in found]
        steps = [totals[start : start + 2] for start in range(0, len(totals), 2)]
        return sum(map(max, steps)) / (sum(totals) / 2) - 1

    assert waits(BatchSampler(SequentialSampler(lengths), 4, drop_last=False)) > 0.15
    assert waits(batches(lengths, 4, 2)) < 0.05


def test_a_long_row_is_alone_with_the_shortest():
    assert balanced([[0, 1, 2], [3, 4, 5]], [5, 100, 40, 30, 50, 6]) == [[0, 1, 5], [2, 3, 4]]


def test_an_interrupted_epoch_goes_on_with_the_batches_that_are_left():
    from accelerate.data_loader import skip_first_batches

    lengths = [3, 90, 4, 1, 60, 2, 8, 7]
    sampler = batches(lengths, 2, 2)
    loader = DataLoader(list(range(8)), batch_sampler=sampler)
    whole = [batch.tolist() for batch in loader]
    assert [batch.tolist() for batch in skip_first_batches(loader, 3)] == whole[3:]
