"""What the tests share: tiny models, built once, and signal handlers that a run does not leave behind."""

import gc
import os
import signal
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
from tqdm import tqdm

from trainer import preload
from trainer.kernels import native
from trainer.tests import tiny
from trainer.training import generate

# Numpy, Arrow, tokenizers and tqdm start threads otherwise. Without any, this process can be forked where a
# warm trainer would be, instead of starting one that imports the libraries, for ten seconds of CPU time.
os.environ.update(preload.SINGLE_THREADED, TOKENIZERS_PARALLELISM="false")
tqdm.monitor_interval = 0


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


# What came of each combination of task, strategy, provider and architecture that was tried.
MATRIX = {}


@pytest.fixture
def matrix():
    """Where a test notes what came of a combination; all are told as a table at the end."""
    return MATRIX


# Training, workers, rows of a step, difference of the adapters and its bound, of each comparison.
EQUALITY = []


@pytest.fixture
def equality():
    """Where a test notes how much the adapters of several workers differ from those of one process."""
    return EQUALITY


def pytest_terminal_summary(terminalreporter):
    """Prints the tables of what was tried."""
    if MATRIX:
        write_matrix(terminalreporter)
    for name, workers, step, found, bound in EQUALITY:
        numbers = " | ".join(f"{number:.0e}" if number else "none" for number in (found, bound))
        terminalreporter.write_line(f"figure: | {name} | {workers} | {step} | {numbers} |")


def write_matrix(terminalreporter):
    """A line for each task, strategy and provider, a column for each architecture."""
    kinds = list(dict.fromkeys(kind for *_, kind in MATRIX))
    lines = list(dict.fromkeys(key[:3] for key in MATRIX))
    heads = f"{'task':<31}{'strategy':<10}{'provider':<13}" + "".join(f"{kind:<9}" for kind in kinds)
    terminalreporter.write_line(heads)
    for task, strategy, provider in lines:
        cells = "".join(f"{MATRIX.get((task, strategy, provider, kind), '-'):<9}" for kind in kinds)
        terminalreporter.write_line(f"{task:<31}{strategy:<10}{provider:<13}{cells}")


@pytest.fixture(autouse=True, scope="session")
def short_answers():
    """Models with random weights seldom end an answer, and generating 256 tokens takes most of a test."""
    generate.MAX_NEW_TOKENS = 24


frozen_modules = 0


@pytest.fixture(autouse=True)
def frozen_libraries():
    """After a test that imported libraries, their objects are frozen, because each training collects garbage
    twice, and going through all of theirs takes half of a short training."""
    global frozen_modules
    yield
    if len(sys.modules) > frozen_modules + 50:
        gc.collect()
        gc.freeze()
        frozen_modules = len(sys.modules)


@pytest.fixture(autouse=True)
def signals():
    """A run in this process takes signals over; they go back to what they were."""
    names = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in names}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(params=["kernels", "torch"])
def computed_by(request, monkeypatch):
    """Lets Hone's kernels compute, and then torch alone, as where they are not built."""
    if request.param == "torch":
        monkeypatch.setattr(native, "library", lambda: None)
    elif native.library() is None:
        # Without a compiler, torch computes everything, which the other parameter tests.
        pytest.skip("the kernels are built where there is a compiler")
    return request.param
