"""Ranks on this machine: this process is rank 0 and starts the others in its process group."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.engines.sibling import PEER_LOST, local_rank, run_sibling
from trainer.protocol.failures import Failure
from trainer.protocol.rank import FOLDER, WorkerLost
from trainer.protocol.stop import Stopped

if TYPE_CHECKING:
    from trainer.data.job import Job, Trained

# How long rank 0 may go on after another rank died. gloo fails at once; NCCL waits for ever.
GRACE_SECONDS = 20.0
# How long after an error of rank 0 another rank's end is looked for that explains it.
BLAME_SECONDS = 5.0
POLL_SECONDS = 0.05


def train(job: Job, work: Callable[[Job], Trained], lose: Callable[[Exception], None]) -> Trained:
    """What `work` returns at rank 0, with as many ranks as the job has workers.

    Raises what rank 0 raises, the Failure of another rank, and WorkerLost when another rank was killed.
    `lose` is called in another thread when rank 0 hangs because it waits for a dead rank; it must end this
    process.
    """
    folder = job.folder / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    job.rank = local_rank(job.folder, job.settings.workers, 0)
    siblings = Siblings(job)
    try:
        siblings.start()
        job.journal.write("engine", name="local", nodes=None)
        siblings.watch(lose)
        job.rank.arrive = siblings.wait_until_ready
        return work(job)
    except (Stopped, Failure):
        raise
    except Exception as error:
        siblings.blame(error)
        raise
    finally:
        siblings.end()
        job.rank.leave()
        shutil.rmtree(folder, ignore_errors=True)


class Siblings:
    """The other ranks of `job`: child processes of this one."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.folder = job.folder / FOLDER
        self.pids: dict[int, int] = {}
        # Exit statuses by rank, negative for a signal.
        self.ended: dict[int, int] = {}
        self.spawned: list[subprocess.Popen[bytes]] = []
        self.lock = threading.Lock()
        self.over = threading.Event()

    def start(self) -> None:
        """Starts them: as forks, which have the libraries, where that is safe, else as new processes."""
        forks = forking_is_safe()
        for number in range(1, self.job.rank.world):
            self.pids[number] = self._fork(number) if forks else self._spawn(number)

    def _fork(self, number: int) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            spec = str(self.job.folder / "spec.json")
            code = run_sibling(spec, local_rank(self.job.folder, self.job.rank.world, number), parent)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def _spawn(self, number: int) -> int:
        # Without the specification's path, by which the service looks for rank 0.
        command = [sys.executable, "-m", "trainer", "rank", str(number), str(os.getpid())]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        process = subprocess.Popen(command, cwd=self.job.folder, env=environment, stdin=subprocess.DEVNULL)
        # `poll` and `end` reap it; Python would reap one that it forgets.
        self.spawned.append(process)
        return process.pid

    def poll(self) -> dict[int, int]:
        """The exit statuses of those that ended, by rank."""
        with self.lock:
            for number, pid in self.pids.items():
                if number not in self.ended:
                    found, status = os.waitpid(pid, os.WNOHANG)
                    if found:
                        self.ended[number] = os.waitstatus_to_exitcode(status)
            return dict(self.ended)

    def wait_until_ready(self) -> None:
        """Returns when all have loaded their libraries and are about to meet; WorkerLost or their Failure
        when one ended, Stopped when a stop was requested."""
        while not all((self.folder / f"ready-{number}").exists() for number in self.pids):
            self.job.beat_or_stop()
            if self.poll():
                self.blame(None)
            time.sleep(POLL_SECONDS)

    def blame(self, error: Exception | None) -> None:
        """Raises the Failure of a rank that failed, or WorkerLost for one that was killed, if any."""
        deadline = time.monotonic() + BLAME_SECONDS
        while not (ended := self._ended_badly()) or all(code == PEER_LOST for code in ended.values()):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        if not ended:
            return
        # A rank that was killed is the cause of the others' failures.
        number = min(ended, key=lambda rank: (ended[rank] >= 0, ended[rank] == PEER_LOST, rank))
        reported = self.folder / f"failed-{number}.json"
        if ended[number] > 0 and reported.exists():
            fields = json.loads(reported.read_text(encoding="utf-8"))
            raise Failure(**{**fields, "message": f"Worker {number}: {fields['message']}"}) from error
        code = ended[number]
        if code == PEER_LOST:
            raise WorkerLost(f"Worker {number} lost its connection to the others") from error
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise WorkerLost(f"Worker {number} {how}") from error

    def _ended_badly(self) -> dict[int, int]:
        return {number: code for number, code in self.poll().items() if code != 0}

    def watch(self, lose: Callable[[Exception], None]) -> None:
        """Starts a thread that calls `lose` when rank 0 goes on long after another rank ended badly."""

        def watch() -> None:
            since = None
            while not self.over.wait(1.0):
                if self._ended_badly():
                    since = since or time.monotonic()
                    if time.monotonic() - since > GRACE_SECONDS:
                        self._lose(lose)

        threading.Thread(target=watch, daemon=True).start()

    def _lose(self, lose: Callable[[Exception], None]) -> None:
        try:
            self.blame(None)
        except Exception as error:
            self.end()
            # `lose` ends this process, and the `finally` of `train` with it.
            shutil.rmtree(self.folder, ignore_errors=True)
            self.job.rank.restore_environment()
            lose(error)

    def end(self) -> None:
        """Ends those that are left, and waits for their end."""
        self.over.set()
        with self.lock:
            for number, pid in self.pids.items():
                if number not in self.ended:
                    os.kill(pid, signal.SIGKILL)
                    self.ended[number] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def forking_is_safe() -> bool:
    """Whether this process can be forked: it has imported torch, started no thread and no GPU, and is a fork
    itself, so that its arguments are not those by which the service looks for rank 0."""
    torch = sys.modules.get("torch")
    tasks = Path("/proc/self/task")
    return (
        torch is not None
        and "run" not in sys.orig_argv
        and tasks.exists()
        and len(list(tasks.iterdir())) == 1
        and not torch.cuda.is_initialized()
    )
