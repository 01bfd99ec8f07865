"""What the tests of ranks share."""

from importlib import import_module

import pytest

from trainer.tests import jobs
from trainer.tests.engines.machines import Machines
from trainer.tests.engines.moments import job
from trainer.warm import MODULES


@pytest.fixture(scope="session")
def libraries():
    """Imports what a run imports once: every rank is a fork of this process."""
    for name in MODULES:
        import_module(name)


@pytest.fixture(scope="session")
def whole(models, libraries, tmp_path_factory):
    """A function from a number of workers to the `job` of so many that ran without a fault."""
    made = {}

    def get(workers=2):
        if workers not in made:
            made[workers] = job(models, tmp_path_factory.mktemp("whole"), workers)
            assert jobs.forked(made[workers]) == 0
        return made[workers]

    return get


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """The first machine of a cluster."""
    made = Machines(tmp_path_factory.mktemp("machines"))
    try:
        made.start(0)
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def machines(head):
    """A cluster of two machines."""
    head.start(1)
    return head
