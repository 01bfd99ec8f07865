"""Stop requests by file and by signal."""

import signal

import pytest

from trainer.protocol.stop import Stop, Stopped


def test_nothing_was_requested(tmp_path):
    stop = Stop(tmp_path)
    assert stop.reason() is None
    stop.raise_if_requested()


def test_a_file_requests_a_stop(tmp_path):
    stop = Stop(tmp_path)
    (tmp_path / "stop").touch()
    assert stop.reason() == "stop"
    with pytest.raises(Stopped):
        stop.raise_if_requested()


def test_a_signal_requests_a_stop_and_those_of_a_terminal_do_not(tmp_path):
    stop = Stop(tmp_path)
    stop.listen()
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.raise_signal(getattr(signal, name))
    assert stop.reason() is None
    signal.raise_signal(signal.SIGTERM)
    assert stop.reason() == "signal"
    with pytest.raises(Stopped):
        stop.raise_if_requested()
    (tmp_path / "stop").touch()
    assert stop.reason() == "stop", "the file says more than the signal"
