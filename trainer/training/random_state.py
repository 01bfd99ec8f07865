"""The random state of this process, kept while something else is computed.

Imports torch; import it inside functions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy
import torch


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Restores the state of every generator at the end, so that what follows draws the same numbers."""
    restore = _restorer()
    try:
        yield
    finally:
        restore()


@contextmanager
def random_state_of_whole() -> Iterator[None]:
    """Restores the state of every generator where an exception, such as a stop, ends what is begun."""
    restore = _restorer()
    try:
        yield
    except BaseException:
        restore()
        raise


def _restorer() -> Callable[[], None]:
    python, arrays, cpu = random.getstate(), numpy.random.get_state(), torch.random.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    metal = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None

    def restore() -> None:
        random.setstate(python)
        numpy.random.set_state(arrays)
        torch.random.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if metal is not None:
            torch.mps.set_rng_state(metal)

    return restore
