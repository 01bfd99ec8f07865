"""A loader's batches are made by another sampler, where it is the expected one."""

from types import SimpleNamespace

import pytest
from torch.utils.data import BatchSampler, SequentialSampler

from trainer.libraries.accelerate import replace_sampler, without_gathering


class Reversed(BatchSampler):
    extra: int

    def __iter__(self):
        return reversed(list(super().__iter__()))


def loader(sampler):
    return SimpleNamespace(batch_sampler=sampler)


def test_the_sampler_is_replaced_also_within_another():
    sampler = BatchSampler(SequentialSampler(range(4)), 2, False)
    made = replace_sampler(loader(SimpleNamespace(batch_sampler=sampler)), BatchSampler, Reversed, extra=3)
    inner = made.batch_sampler.batch_sampler
    assert inner is sampler and inner.extra == 3 and list(inner) == [[2, 3], [0, 1]]
    with pytest.raises(TypeError, match="Reversed"):
        replace_sampler(loader(inner), BatchSampler, Reversed)


def test_a_rank_gathers_its_own_values_for_a_while():
    class Accelerator:
        def gather(self, value):
            return [value, value]

        gather_for_metrics = gather

    accelerator = Accelerator()
    with pytest.raises(ZeroDivisionError), without_gathering(accelerator):
        assert accelerator.gather(1) == 1 and accelerator.gather_for_metrics(2, use_gather_object=True) == 2
        raise ZeroDivisionError
    assert accelerator.gather(1) == [1, 1]
