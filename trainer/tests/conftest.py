"""What the tests share: tiny models, built once, and signal handlers that a run does not leave behind."""

import os
import signal

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest

from trainer.tests import tiny


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A function from a kind (and a template) to the directory of a tiny model of it."""
    made = {}

    def get(kind, template=None):
        if (kind, template) not in made:
            directory = tmp_path_factory.mktemp(f"{kind}-{template}")
            made[kind, template] = tiny.build(kind, directory, template)
        return made[kind, template]

    return get


@pytest.fixture(autouse=True)
def signals():
    """A run in this process takes signals over; they go back to what they were."""
    names = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in names}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
