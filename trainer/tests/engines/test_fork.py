"""A rank that trains in a fork reports through its actor, and none of the two outlives the other."""

import os
import signal
import threading
from multiprocessing import Pipe

import pytest

from trainer.engines.cluster.fork import PipedReports, hand_on
from trainer.engines.cluster.outbox import Outbox

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
WAIT_SECONDS = 120


def forked(work):
    """The pid of a copy of this process that does `work`, then exits with 0."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    finally:
        os._exit(99)


def exit_code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_what_a_fork_reports_is_fetched_in_order_and_a_stop_reaches_it(tmp_path):
    ours, theirs = Pipe()
    (tmp_path / "weights").write_bytes(b"1" * 9)

    def train():
        ours.close()
        reports = PipedReports(tmp_path, theirs)
        reports.beat()
        reports.send("weights")
        reports.put(("line", "checkpoint", {}))
        reports.flush()
        reports.put(("line", "flushed", {}))
        while reports.reason() is None:
            reports.beat()
        reports.post("result", {"stopped": reports.reason()})

    pid = forked(train)
    theirs.close()
    outbox, results = Outbox(tmp_path), []
    handing = threading.Thread(target=lambda: results.append(hand_on(ours, outbox)))
    handing.start()
    fetched, beaten = [], False
    try:
        while ("line", "flushed", {}) not in fetched:
            sign, messages = outbox.fetch(None)
            # A message has been dealt with when the next ones are fetched.
            assert messages[-2:] != [("line", "checkpoint", {}), ("line", "flushed", {})]
            fetched += messages
            beaten = beaten or sign
        assert fetched[:2] == [("file", "weights", b"1" * 9, True), ("line", "checkpoint", {})]
        assert beaten
    finally:
        # It would go on for ever otherwise.
        outbox.fetch("stop")
    handing.join(WAIT_SECONDS)
    assert results == [{"stopped": "stop"}]
    assert exit_code(pid) == 0


def test_neither_outlives_the_other(tmp_path):
    ours, theirs = Pipe()

    def train():
        ours.close()
        PipedReports(tmp_path, theirs)
        signal.pause()

    def hand():
        theirs.close()
        hand_on(ours, Outbox(tmp_path))

    fork, actor = forked(train), forked(hand)
    ours.close()
    theirs.close()
    os.kill(fork, signal.SIGKILL)
    assert exit_code(actor) == 1
    assert exit_code(fork) == -signal.SIGKILL

    ours, theirs = Pipe()
    fork = forked(train)
    theirs.close()
    ours.close()
    assert exit_code(fork) == 1
