"""How the rows of a step are divided over its micro-batches."""

import random

import pytest
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler

from trainer.data.lengths import labelled_counts
from trainer.padding_free.balanced_batches import BalancedBatches, Rows, balanced, rows_of


def rows(lengths, work=None, size=1):
    return Rows(lengths, work or lengths, sum(sorted(lengths)[-size:]))


def batches(lengths, size, per_step):
    sampler = BatchSampler(SequentialSampler(lengths), size, drop_last=False)
    sampler.__class__ = BalancedBatches
    sampler.per_step, sampler.rows = per_step, rows(lengths, size=size)
    return sampler


def drawn(seed, count):
    draw = random.Random(seed)
    return [int(draw.lognormvariate(4, 0.8)) for _ in range(count)]


@pytest.mark.parametrize(("count", "size", "per_step"), [(64, 4, 4), (61, 4, 2), (7, 8, 2), (9, 1, 3)])
def test_a_step_has_the_same_rows_in_as_many_batches(count, size, per_step):
    plain = list(BatchSampler(SequentialSampler(range(count)), size, drop_last=False))
    sampler = batches(drawn(1, count), size, per_step)
    found = list(sampler)
    assert len(found) == len(plain) == len(sampler) and all(found)
    for start in range(0, len(plain), per_step):
        steps = (made[start : start + per_step] for made in (plain, found))
        assert len({tuple(sorted(row for batch in step for row in batch)) for step in steps}) == 1
    assert found == list(sampler), "the same again"


def waits(batches, work, per_step):
    """The share of a step's time that a rank waits for the others."""
    totals = [sum(work[row] for row in batch) for batch in batches]
    steps = [totals[start : start + per_step] for start in range(0, len(totals), per_step)]
    return sum(map(max, steps)) / (sum(totals) / per_step) - 1


@pytest.mark.parametrize(("per_step", "plain", "found"), [(2, 0.15, 0.02), (4, 0.3, 0.05)])
def test_the_batches_of_a_step_are_about_as_much_work(per_step, plain, found):
    lengths = drawn(2, 8 * 50)
    assert waits(BatchSampler(SequentialSampler(lengths), 4, drop_last=False), lengths, per_step) > plain
    assert waits(batches(lengths, 4, per_step), lengths, per_step) < found


def test_rows_change_places_after_they_were_placed():
    assert balanced([[0, 1, 2], [3, 4]], rows([3, 3, 2, 2, 2], size=3)) == [[2, 3, 4], [0, 1]]


def test_a_long_row_is_alone():
    assert balanced([[0, 1, 2], [3, 4, 5]], rows([5, 100, 40, 30, 10, 6], size=3)) == [[1], [0, 2, 3, 4, 5]]


def test_no_batch_has_more_tokens_than_the_longest_rows_that_fill_one():
    lengths = drawn(3, 400)
    draw = random.Random(4)
    work = [length * draw.choice((1, 9)) for length in lengths]
    for start in range(0, 400, 8):
        given = list(range(start, start + 8))
        # Of these rows alone, so that the limit is near.
        most = sum(sorted(lengths[start : start + 8])[-4:])
        made = balanced([given[:4], given[4:]], Rows(lengths, work, most))
        assert max(sum(lengths[row] for row in batch) for batch in made) <= most


def test_the_work_of_a_row_counts_its_labels_and_its_length(models):
    import transformers
    from datasets import Dataset

    model = transformers.AutoModelForCausalLM.from_pretrained(models("llama"))
    labels = [[-100, 1, 2], [-100, -100, 3], [-100] * 5 + [1], []]
    dataset = Dataset.from_dict({"input_ids": [[1] * len(row) for row in labels], "labels": labels})
    assert labelled_counts(dataset).tolist() == [2, 1, 1, 0]
    chosen = dataset.select([2, 0])
    assert labelled_counts(chosen).tolist() == [1, 2]
    assert labelled_counts(Dataset.from_dict({"labels": labels}).select(range(1, 4))).tolist() == [1, 1, 0]
    found = rows_of(dataset, model, 2)
    assert (found.lengths, found.most) == ([3, 3, 6, 0], 9)
    assert found.work[0] > found.work[1] > 3 and found.work[2] > 6 and found.work[3] == 0


def test_an_interrupted_epoch_goes_on_with_the_batches_that_are_left():
    from accelerate.data_loader import skip_first_batches

    lengths = [3, 90, 4, 1, 60, 2, 8, 7]
    sampler = batches(lengths, 2, 2)
    loader = DataLoader(list(range(8)), batch_sampler=sampler)
    whole = [batch.tolist() for batch in loader]
    assert [batch.tolist() for batch in skip_first_batches(loader, 3)] == whole[3:]
