"""Acts at a moment of a run with several ranks, and looks for what a run leaves behind."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from trainer.tests import jobs

# Generous, for a machine that is ten times as slow.
PATIENCE_SECONDS = 600

# In the order of a run: what rank 0 does, and how often it has done so before.
MOMENTS = {
    "loading the tokenizer": ("tokenizer", 0),
    "loading the model": ("model", 0),
    "trying a step": ("probe", 0),
    "training": ("metric", 4),
    "evaluating the base model": ("evaluate", 0),
    "evaluating": ("evaluate", 1),
    "writing a checkpoint": ("writing", 1),
    "saving the adapter": ("artifact", 0),
}


def at(moment: str, act: Callable[[], None], run: Callable[[Path], int] = jobs.train) -> Callable:
    """`run`, for a fork of this process, with rank 0 calling `act` at one of MOMENTS. Temporary files go to a
    folder of the job's own."""
    wanted, before = MOMENTS[moment]

    def work(spec: Path) -> int:
        from trainer.protocol import checkpoints
        from trainer.protocol.journal import Journal

        temporary(spec).mkdir(exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary(spec))
        seen = []

        def reached(what: str) -> None:
            if what == wanted:
                seen.append(what)
                if len(seen) == before + 1:
                    act()

        write, sync = Journal.write, checkpoints.sync_tree

        def write_and_tell(self, type: str, **fields) -> None:
            write(self, type, **fields)
            phase = fields.get("phase")
            if phase == "evaluate" and "row 0 of" not in fields["detail"]:
                # It goes on.
                return
            reached(fields["detail"] if phase == "load" else phase or type)

        def sync_and_tell(folder: Path) -> None:
            sync(folder)
            reached("writing")

        Journal.write, checkpoints.sync_tree = write_and_tell, sync_and_tell
        return run(spec)

    return work


def job(models, folder: Path, workers: int = 2) -> Path:
    """A job of ten steps with a micro-batch for each worker, evaluations and checkpoints."""
    settings = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": workers, "max_steps": 10}
    often = {"save_steps": 3, "eval_split": 0.2, "eval_steps": 4}
    return jobs.make(folder, models("llama"), workers=workers, **settings, **often)


def watched(spec: Path, work: Callable[[Path], int]) -> int:
    """Does `work` in a fork, waits until none of its processes is left, and returns its exit status."""
    pid = jobs.fork(spec, work)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    wait_until_gone(pid)
    return status


def steps(spec: Path) -> list[int]:
    """The steps of the checkpoints that were made."""
    return [line["step"] for line in jobs.journal(spec, "checkpoint")]


def temporary(spec: Path) -> Path:
    """The folder for a run's temporary files."""
    return spec.parent.with_name(spec.parent.name + "-temporary")


def siblings() -> list[psutil.Process]:
    """The other ranks, for rank 0."""
    return psutil.Process().children()


def wait_until_gone(pid: int) -> None:
    """Returns when no process is left in the process group of the run whose rank 0 was `pid`."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left := [process.pid for process in psutil.process_iter() if _is_in(process, pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def _is_in(process: psutil.Process, group: int) -> bool:
    try:
        # A zombie has ended; who started it has not looked yet.
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def left_behind(spec: Path) -> list[str]:
    """What only a run in progress has."""
    folder = spec.parent
    found = [*folder.glob("ranks"), *folder.glob("checkpoints/.aside")]
    if temporary(spec).exists():
        found += temporary(spec).iterdir()
    return [str(path) for path in found]
