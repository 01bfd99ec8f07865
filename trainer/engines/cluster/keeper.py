"""Keeps a machine in the cluster: Ray's processes, and this one, which imports all libraries and is forked
for each rank, which would otherwise import them first (see `trainer.preload`)."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from trainer import preload
from trainer.engines.cluster.ask import PACKAGE, SOCKET, short_path
from trainer.engines.cluster.parcels import Store
from trainer.protocol.die_with import die_with

# Memory that must be available for the libraries: what they take, and as much again for the ranks.
WARM_BYTES = 2 << 30

# How long the libraries wait for Ray, which must start within 30 s, unless a rank asks for them.
RAY_FIRST_SECONDS = 10.0

# How often folders of killed ranks are looked for.
SWEEP_SECONDS = 30.0


def keep(arguments: list[str]) -> int:
    """Runs `ray start` with `arguments` until that ends, or this process is asked to end; returns its exit
    status."""
    return Keeper(arguments).keep()


class Ended(BaseException):
    """Ends the import of the libraries."""


class Keeper:
    """Ray's processes, and the forks of this one by a descriptor that tells of their end."""

    def __init__(self, arguments: list[str]) -> None:
        joining = os.environ.pop("HONE_NODE_PARENT", None)
        if joining is not None:
            die_with(int(joining), signal.SIGTERM)
        self.store = Store()
        self.forks: dict[int, int] = {}
        # Ranks have the package of their run.
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path != PACKAGE)}
        # Read when the libraries are imported.
        os.environ["HF_HUB_OFFLINE"] = "1"
        keeper = os.getpid()
        self.ray = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *arguments],
            env=environment,
            preexec_fn=(lambda: die_with(keeper, signal.SIGTERM)) if sys.platform == "linux" else None,
        )
        self.loading = False
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            signal.signal(getattr(signal, name), lambda *_: self._end())

    def keep(self) -> int:
        """See the function."""
        listening = self._listen() if can_fork() else None
        try:
            if listening is not None and self._load(listening):
                self._serve(listening)
            elif listening is not None:
                listening.close()
            while self.ray.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    self.ray.wait(SWEEP_SECONDS)
                self.store.sweep()
            return self.ray.returncode
        finally:
            for pid in self.forks.values():
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            (self.store.root / SOCKET).unlink(missing_ok=True)
            self.store.sweep()

    def _end(self) -> None:
        self.ray.terminate()
        if self.loading:
            self.loading = False
            raise Ended

    def _load(self, listening: socket.socket) -> bool:
        """Imports the libraries. False when this process was asked to end, or forking is not safe."""
        self.loading = True
        try:
            select.select([listening], [], [], RAY_FIRST_SECONDS)
            return preload.load(preload.LIBRARIES)
        except Ended:
            return False
        finally:
            self.loading = False

    def _listen(self) -> socket.socket:
        """Ranks may ask from now on, and wait until the libraries are there."""
        listening = socket.socket(socket.AF_UNIX)
        (self.store.root / SOCKET).unlink(missing_ok=True)
        with short_path(self.store.root) as path:
            listening.bind(path)
        listening.listen()
        return listening

    def _serve(self, listening: socket.socket) -> None:
        """Forks for each rank that asks, until Ray ends."""
        poll = select.poll()
        ended = os.pidfd_open(self.ray.pid)
        for descriptor in (ended, listening.fileno()):
            poll.register(descriptor, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poll.poll(SWEEP_SECONDS * 1000)]
            if ended in ready:
                return
            for descriptor in ready:
                if descriptor == listening.fileno():
                    asking, _ = listening.accept()
                    poll.register(self._fork(asking, listening), select.POLLIN)
                    asking.close()
                else:
                    poll.unregister(descriptor)
                    os.waitpid(self.forks.pop(descriptor), 0)
                    os.close(descriptor)
            self.store.sweep()

    def _fork(self, asking: socket.socket, listening: socket.socket) -> int:
        keeper = os.getpid()
        pid = os.fork()
        if pid:
            descriptor = os.pidfd_open(pid)
            self.forks[descriptor] = pid
            return descriptor
        try:
            die_with(keeper)
            for name in ("SIGTERM", "SIGINT", "SIGHUP"):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            listening.close()
            become_rank(asking)
        except BaseException:
            # The rank that asked notices that this process ended, and not why.
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


def become_rank(asking: socket.socket) -> None:
    """Turns a fork into the rank that asked for it, with its output, environment and version of this
    package."""
    _, (out, error), _, _ = socket.recv_fds(asking, 1, 2)
    for source, target in ((out, 1), (error, 2)):
        os.dup2(source, target)
        os.close(source)
    connection = Connection(asking.detach())
    package, environment, arguments = connection.recv()
    connection.send("It is here.")
    threads = os.environ.get("OMP_NUM_THREADS")
    os.environ.clear()
    os.environ.update(environment)
    preload.set_threads(threads, environment.get("OMP_NUM_THREADS"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "trainer"]:
        del sys.modules[name]
    sys.path[:] = [package, *(path for path in sys.path if path != PACKAGE)]
    from trainer.engines.cluster.fork import train

    train(connection, *arguments)


def can_fork() -> bool:
    """Whether ranks can be forks here. A GPU driver's state does not survive one."""
    import psutil

    return (
        sys.platform == "linux"
        and not Path("/dev/nvidiactl").exists()
        and not Path("/dev/kfd").exists()
        and psutil.virtual_memory().available > WARM_BYTES
    )
