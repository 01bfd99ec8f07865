"""What Hone changes of accelerate: which rows a batch has, and that a rank computes a loss by itself.

accelerate takes no batch sampler of one's own once its loader is made, and the trainer makes the loader.
`gather` cannot be turned off.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trainer.libraries.versions import require

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import Tensor
    from torch.utils.data import BatchSampler, DataLoader

    Loader = DataLoader[dict[str, Tensor]]

require("accelerate")


def replace_sampler(
    loader: Loader, expected: type[BatchSampler], wanted: type[BatchSampler], **fields: object
) -> Loader:
    """`loader`, prepared by accelerate, whose batch sampler is `wanted`, a subclass of its class `expected`,
    with these `fields`. TypeError when the sampler is of another class.

    Its class changes, as the loader holds on to the object. accelerate's own sampler, which divides the
    batches among ranks, has the trainer's within it.
    """
    sampler = loader.batch_sampler
    if type(sampler) is not expected:
        sampler = getattr(sampler, "batch_sampler", sampler)
    if type(sampler) is not expected:
        raise TypeError(f"the batches are made by {type(sampler).__name__}")
    sampler.__class__ = wanted
    vars(sampler).update(fields)
    return loader


@contextmanager
def without_gathering(accelerator: Accelerator) -> Iterator[None]:
    """Gathers the values of this rank alone: the batches of the ranks differ in size, and the memory probe of
    a rank may end before the others'."""
    names = ("gather", "gather_for_metrics")
    for name in names:
        setattr(accelerator, name, lambda value, *args, **kwargs: value)
    try:
        yield
    finally:
        for name in names:
            delattr(accelerator, name)
