"""A warm trainer: imports everything in advance and forks a trainer for each job.

Importing torch, transformers, TRL and PEFT takes most of the time before the first step of a small model. A
fork leads a session of its own and outlives this process and the service, like a trainer started without it.

The protocol is JSON lines. On standard input:  {"run": SPEC, "cwd": DIR, "log": FILE, "env": {…},
"service": {"pid": N, "started": TEXT}}, or {"answer": SOCKET, "env": {…}} for a fork that answers
(trainer/answering) over the Unix socket of that path and ends with it. On standard output:  {"ready": true},
then {"started": SPEC or SOCKET, "pid": N} or {"refused": SPEC or SOCKET, "reason": TEXT}, and {"ended": PID,
"code": N or null, "signal": NAME or null}. It exits when its standard input ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from trainer.preload import LIBRARIES, load, set_threads
from trainer.protocol.durable import write_json

# What a run and an answer import.
MODULES = (
    *LIBRARIES,
    "trainer.answering.loaded",
    "trainer.export.verification.reference",
    "trainer.families.causal",
    "trainer.run",
    "trainer.strategies.sft",
    "trainer.training.reporter",
)


def warm() -> int:
    """Imports everything, then forks on request. Exit status 1 when forking is not safe."""
    return serve() if load(MODULES) else 1


def serve() -> int:
    """Forks on request until standard input ends."""
    return _Server().serve()


class Service(TypedDict):
    """The process of the service, with its start time."""

    pid: int
    started: str


class Order(TypedDict, total=False):
    """A line on standard input: a training to run, or a socket to answer over."""

    run: str
    cwd: str
    log: str
    service: Service
    answer: str
    env: dict[str, str]


class _Server:
    def __init__(self) -> None:
        # Keeps what libraries print out of the protocol.
        self.out = os.dup(1)
        os.dup2(2, 1)
        self.children: dict[int, int] = {}
        self.poll = select.poll()
        self.poll.register(0, select.POLLIN)
        self.pending = b""

    def serve(self) -> int:
        self.say(ready=True)
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor != 0:
                    self.reap(descriptor)
                elif not self.read():
                    return 0

    def say(self, **line: object) -> None:
        os.write(self.out, (json.dumps(line) + "\n").encode())

    def read(self) -> bool:
        """Handles the complete lines; False at the end of input."""
        chunk = os.read(0, 65_536)
        *lines, self.pending = (self.pending + chunk).split(b"\n")
        for line in lines:
            self.fork(json.loads(line))
        return chunk != b""

    def fork(self, order: Order) -> None:
        answers = "answer" in order
        name = order["answer"] if answers else order["run"]
        try:
            streams = _connected(name) if answers else _log(order["log"])
            begun, beginning = os.pipe()
            pid = os.fork()
        except OSError as error:
            self.say(refused=name, reason=str(error))
            return
        if pid == 0:
            os.close(begun)
            self.become(self.answer if answers else self.run, order, streams, beginning)
        for descriptor in {*streams} - {2}:
            os.close(descriptor)
        os.close(beginning)
        descriptor = os.pidfd_open(pid)
        self.children[descriptor] = pid
        self.poll.register(descriptor, select.POLLIN)
        if os.read(begun, 1):
            self.say(started=name, pid=pid)
        else:
            self.say(refused=name, reason="The fork ended before it began.")
        os.close(begun)

    def become(
        self,
        work: Callable[[Order, int], int],
        order: Order,
        streams: tuple[int, int, int],
        beginning: int,
    ) -> None:
        """Turns the fork into a process with these standard streams that does `work`; does not return."""
        code = 1
        try:
            os.setsid()
            for target, source in enumerate(streams):
                os.dup2(source, target)
            for descriptor in {*streams, self.out, *self.children} - {2}:
                os.close(descriptor)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            threads = os.environ.get("OMP_NUM_THREADS")
            os.environ.clear()
            os.environ.update(order["env"])
            set_threads(threads, os.environ.get("OMP_NUM_THREADS"))
            code = work(order, beginning)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def run(self, order: Order, beginning: int) -> int:
        """`python -m trainer run SPEC`.

        Writes `process.json` into the job folder: a service that was killed before it stored the pid looks
        for a trainer by its arguments, and a fork has those of its parent. Then tells the parent by
        `beginning` that it begins.
        """
        os.chdir(order["cwd"])
        write_json(Path("process.json"), {"pid": os.getpid(), "started": _started(os.getpid())})
        # If the service was killed before the file was there, its successor may have looked for the file
        # already and taken the job for interrupted. One that is killed from now on has a successor that
        # finds it.
        service = order["service"]
        if _started(service["pid"]) != service["started"]:
            print("Not started: the service has ended before this training began.", file=sys.stderr)
            return 1
        os.write(beginning, b"1")
        os.close(beginning)
        sys.argv = [sys.argv[0], "run", order["run"]]
        from trainer.run import run

        return run(order["run"])

    def answer(self, order: Order, beginning: int) -> int:
        """`python -m trainer answer`."""
        os.write(beginning, b"1")
        os.close(beginning)
        from trainer.answering.main import answer

        return answer()

    def reap(self, descriptor: int) -> None:
        pid = self.children.pop(descriptor)
        self.poll.unregister(descriptor)
        os.close(descriptor)
        status = os.waitpid(pid, 0)[1]
        ended = os.waitstatus_to_exitcode(status)
        name = signal.Signals(-ended).name if ended < 0 else None
        self.say(ended=pid, code=ended if ended >= 0 else None, signal=name)


def _log(path: str) -> tuple[int, int, int]:
    """The standard streams of a training: nothing, and its log twice."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    return nothing, log, log


def _connected(path: str) -> tuple[int, int, int]:
    """The standard streams of a process that answers over a Unix socket."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return (stream := connection.detach()), stream, 2


def _started(pid: int) -> str | None:
    """The start time of a process in ticks since boot (proc(5), field 22 of stat); None if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]
