"""Files and reports that travel between machines, here between two folders."""

import json
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from trainer.engines.cluster import parcels
from trainer.engines.cluster.outbox import Outbox
from trainer.engines.cluster.report import Report
from trainer.protocol import checkpoints
from trainer.protocol.stop import Stopped
from trainer.tests import jobs


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("HONE_NODE_FOLDER", str(tmp_path / "node"))
    return parcels.Store()


@pytest.mark.parametrize("size", [0, 1, parcels.PIECE_BYTES, parcels.PIECE_BYTES + 1])
def test_a_file_arrives_whole_and_once(store, tmp_path, size):
    sent = tmp_path / "sent"
    sent.write_bytes(os.urandom(size))
    name = parcels.fingerprint(sent)
    assert store.lacks([name]) == [name]
    for piece, first, last in parcels.pieces(sent):
        store.add(name, piece, first, last)
    assert store.lacks([name]) == []
    folder = store.rank_folder()
    store.lay_out(folder, {"model/weights": name})
    assert (folder / "model" / "weights").read_bytes() == sent.read_bytes()


def test_what_a_killed_rank_left_goes_and_that_of_a_living_one_stays(store):
    code = (
        "import os, sys; from trainer.engines.cluster.parcels import Store\n"
        "Store().add('weights', b'half', True, False)\n"
        "print(Store().rank_folder(), flush=True); sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(jobs.ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as rank:
        folder = rank.stdout.readline().strip()
        store.sweep()
        assert os.path.isdir(folder) and os.listdir(store.files) == [f"weights.{rank.pid}"]
        rank.kill()
    store.sweep()
    assert not os.path.exists(folder) and os.listdir(store.files) == []


def test_a_checkpoint_lies_in_the_job_folder_before_its_line(tmp_path):
    spec = SimpleNamespace(tensorboard_dir=None)
    here, there = tmp_path / "job", tmp_path / "node"
    there.mkdir()
    journal = []
    job = SimpleNamespace(
        folder=here,
        spec=spec,
        resume=None,
        settings=SimpleNamespace(save_total_limit=1),
        journal=SimpleNamespace(write=lambda type, **fields: journal.append((type, newest(here)))),
    )
    outbox, report = Outbox(there), Report(job)

    def work():
        for step in (1, 2):
            written = checkpoints.temporary_folder(there / "checkpoints")
            (written / "adapter.bin").write_bytes(os.urandom(100))
            (written / "trainer_state.json").write_text(json.dumps({"best_global_step": None}))
            made = checkpoints.seal(written, there / "checkpoints", step, {"tokens": step})
            path = made.path.relative_to(there).as_posix()
            outbox.write("checkpoint", step=step, path=path, reason="interval", best=False)
        outbox.beat()

    worker = threading.Thread(target=work)
    worker.start()
    beaten = False
    while worker.is_alive():
        beat, messages = outbox.fetch(None)
        beaten = beaten or beat
        for message in messages:
            report.take(message)
    assert beaten or outbox.beaten
    assert journal == [("checkpoint", 1), ("checkpoint", 2)]
    kept = checkpoints.complete(here / "checkpoints", 2)
    assert kept.facts == {"tokens": 2}
    assert [path.name for path in (here / "checkpoints").iterdir()] == ["checkpoint-2"]
    sent = there / "checkpoints" / "checkpoint-2" / "adapter.bin"
    assert (kept.path / "adapter.bin").read_bytes() == sent.read_bytes()


def newest(folder):
    found, _ = checkpoints.newest(folder / "checkpoints", to_train=False)
    return found and found.step


def test_a_stop_request_reaches_the_rank(tmp_path):
    outbox = Outbox(tmp_path)
    outbox.raise_if_requested()
    outbox.fetch("stop")
    assert outbox.reason() == "stop"
    with pytest.raises(Stopped):
        outbox.raise_if_requested()


def test_files_outside_of_the_job_folder_are_refused(tmp_path):
    job = SimpleNamespace(folder=tmp_path, spec=SimpleNamespace(tensorboard_dir=None), resume=None)
    with pytest.raises(ValueError, match="sent a file"):
        Report(job).take(("file", "../elsewhere", b"", True))
