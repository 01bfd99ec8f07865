"""Ranks tell each other numbers and metrics, also those that only some of them have."""

import json
import os

import pytest

from trainer.engines.sibling import local_rank
from trainer.protocol.rank import FOLDER, Rank
from trainer.training.shared_figures import SharedFigures

# By step, of each of three ranks: a number, and metrics.
STEPS = [
    [(1, {"loss": [1.0, 2.0]}), (2, {"loss": [4.0]}), (3, {})],
    [(4, {"loss": [3.0]}), (5, {"margin": [7]}), (6, {"margin": [8], "accuracy": [0.5]})],
    [(7, {}), (8, {}), (2**53 - 1, {})],
]
TOLD = [
    [[[1.0], [2.0], [3.0]], {"loss": 7 / 3}],
    [[[4.0], [5.0], [6.0]], {"loss": 3.0, "margin": 7.5, "accuracy": 0.5}],
    [[[7.0], [8.0], [2.0**53 - 1]], {}],
]


def share_all(rank):
    """What the rank is told in each step, and its collectives in a step with metrics that are known."""
    from torch import distributed

    figures = SharedFigures(rank)
    told = [figures.share([own[rank.number][0]], own[rank.number][1]) for own in STEPS]
    calls = []
    for name in ("all_gather", "all_gather_object", "all_reduce", "broadcast"):
        call = getattr(distributed, name)

        def counted(*args, name=name, call=call, **kwargs):
            calls.append(name)
            return call(*args, **kwargs)

        setattr(distributed, name, counted)
    figures.share([0], {"margin": [1.0]} if rank.first else {"loss": [2.0]})
    return [told, calls]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_all_ranks_are_told_the_same_in_one_message(tmp_path):
    import torch  # noqa: F401  (once, for all forks)

    (tmp_path / FOLDER).mkdir()
    pids = []
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            try:
                rank = local_rank(tmp_path, 3, number)
                rank.join("cpu")
                (tmp_path / str(number)).write_text(json.dumps(share_all(rank)))
                rank.leave()
            finally:
                os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    for number in range(3):
        assert json.loads((tmp_path / str(number)).read_text()) == [TOLD, ["all_gather"]]


def test_one_process_is_told_its_own():
    assert SharedFigures(Rank()).share([1, 2.5], {"loss": [1.0, 2.0]}) == ([[1, 2.5]], {"loss": 1.5})
