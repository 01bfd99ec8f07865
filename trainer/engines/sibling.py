"""A rank beside rank 0 on the same machine: trains along and reports only its own failure."""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path

from trainer.protocol.contracts import read_spec
from trainer.protocol.die_with import die_with
from trainer.protocol.durable import write_json
from trainer.protocol.failures import explain
from trainer.protocol.rank import FOLDER, Rank, lost_a_peer
from trainer.protocol.silent import silent_context

# Exit status of a rank that failed because another one was gone.
PEER_LOST = 3


def run_sibling(spec_path: str, rank: Rank, parent: int) -> int:
    """Trains as `rank` of the job whose rank 0 is the process `parent`; returns the exit status."""
    die_with(parent)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        # Meant for rank 0, which tells the others.
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    spec = read_spec(spec_path)
    folder = spec.folder / FOLDER
    rank.arrive = (folder / f"ready-{rank.number}").touch
    try:
        # `python -m trainer describe` imports this module.
        from trainer.work import train_along

        train_along(silent_context(spec), rank)
        return 0
    except BaseException as error:
        traceback.print_exc()
        if lost_a_peer(error):
            return PEER_LOST
        write_json(folder / f"failed-{rank.number}.json", explain(error).fields())
        return 1


def main(number: int, parent: int) -> int:
    """`python -m trainer rank`: a sibling in a process of its own, in the job's folder."""
    spec = read_spec("spec.json")
    return run_sibling("spec.json", local_rank(spec.folder, spec.settings.workers, number), parent)


def local_rank(job_folder: Path, world: int, number: int) -> Rank:
    """Rank `number` of a job whose ranks are all on this machine. They meet at a file, and gloo listens on
    the loopback interface, so that no other machine reaches them."""
    interface = {"linux": "lo", "darwin": "lo0"}.get(sys.platform)
    return Rank(number, world, number, f"file://{job_folder / FOLDER / 'store'}", interface)
