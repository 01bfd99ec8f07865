"""Two machines of a cluster: network namespaces with addresses of their own where that is permitted, else two
nodes on the address of this machine."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from trainer.engines.cluster import address
from trainer.tests import jobs

# On a busy machine a node takes ten times as long as on an idle one.
START_SECONDS = 1200


class Machines:
    """A head and, after `start(1)`, a second node, each with `cpus` cores for ranks. `end` ends all."""

    def __init__(self, folder: Path, cpus: int = 1) -> None:
        self.folder = folder
        self.cpus = cpus
        # Names of network devices have 15 characters at most.
        self.name = f"hone{os.getpid()}{'' if cpus == 1 else cpus}"
        self.namespaces = self._make_namespaces()
        self.token = folder / "token"
        self.token.write_text(secrets.token_hex(32))
        host = "10.77.0.1" if self.namespaces else _own_address()
        self.hosts = [host, "10.77.0.2" if self.namespaces else host]
        self.nodes: list[subprocess.Popen | None] = [None, None]
        self.address = f"{host}:{_free_port()}"
        self.temporary = Path(f"/tmp/{self.name}")

    def _make_namespaces(self) -> bool:
        if os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("ip") is None:
            return False
        first, second = f"{self.name}a", f"{self.name}b"
        commands = [
            f"netns add {first}",
            f"netns add {second}",
            f"link add {first} netns {first} type veth peer name {second} netns {second}",
            f"-n {first} addr add 10.77.0.1/24 dev {first}",
            f"-n {second} addr add 10.77.0.2/24 dev {second}",
            *(f"-n {name} link set {device} up" for name in (first, second) for device in ("lo", name)),
        ]
        return all(subprocess.run(["ip", *command.split()]).returncode == 0 for command in commands)

    def on(self, number: int, command: list[str]) -> list[str]:
        """`command`, to be run on machine `number`."""
        return ["ip", "netns", "exec", self.name + "ab"[number], *command] if self.namespaces else command

    def start(self, number: int) -> None:
        """Starts the head (0) or the second node (1); returns when it belongs to the cluster."""
        command = [sys.executable, "-m", "trainer", "node", "--disable-usage-stats"]
        command += ["--node-ip-address", self.hosts[number], "--num-cpus", str(self.cpus), "--num-gpus", "0"]
        command += ["--object-store-memory", "80000000"]
        if number == 0:
            command += ["--head", "--port", self.address.split(":")[1], "--include-dashboard=false"]
            command += ["--no-monitor"]
            command += ["--temp-dir", str(self.temporary)]
        else:
            command += ["--address", self.address]
        there = len(self.look()) if number else 0
        deadline = time.monotonic() + START_SECONDS
        while len(self.look()) <= there:
            assert time.monotonic() < deadline, (self.folder / f"node-{number}.txt").read_text()
            # Ray gives up after 30 s, which a busy machine may need.
            if self.nodes[number] is None or self.nodes[number].poll() is not None:
                self.nodes[number] = self._spawn(number, command)
            time.sleep(0.5)

    def _spawn(self, number: int, command: list[str]) -> subprocess.Popen:
        with open(self.folder / f"node-{number}.txt", "ab") as log:
            return subprocess.Popen(
                self.on(number, command),
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={
                    **os.environ,
                    **self.environment(number),
                    "RAY_AUTH_MODE": "token",
                    # Of five times 13 s, so that the test of a cut network is shorter.
                    "RAY_health_check_failure_threshold": "2",
                    "PYTHONPATH": str(jobs.ROOT),
                },
            )

    def environment(self, number: int) -> dict[str, str]:
        """What a service on machine `number` gives its trainers."""
        return {
            address.ADDRESS: self.address,
            address.TOKEN_FILE: str(self.token),
            "RAY_AUTH_TOKEN_PATH": str(self.token),
            "HONE_NODE_FOLDER": str(self.folder / f"files-{number}"),
        }

    def look(self) -> list[dict]:
        """The cluster's nodes, as the first machine sees them; none while it does not answer."""
        state = self.state()
        return state["nodes"]

    def state(self, **environment: str) -> dict:
        """The output of `python -m trainer cluster` on the first machine."""
        ran = subprocess.run(
            self.on(0, [sys.executable, "-m", "trainer", "cluster"]),
            env={**os.environ, **self.environment(0), "PYTHONPATH": str(jobs.ROOT), **environment},
            stdout=subprocess.PIPE,
            check=True,
        )
        return json.loads(ran.stdout)

    def run(self, spec: Path, **environment: str) -> subprocess.Popen:
        """Starts the job on the first machine, as its service does."""
        with open(spec.parent / "log.txt", "ab") as log:
            return subprocess.Popen(
                self.on(0, [sys.executable, "-m", "trainer", "run", str(spec)]),
                cwd=spec.parent,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={
                    **os.environ,
                    **self.environment(0),
                    "PYTHONPATH": str(jobs.ROOT),
                    **environment,
                },
            )

    def forks(self) -> list[int]:
        """The processes of the ranks that are forks of a keeper."""
        keepers = [node.pid for node in self.nodes if node is not None]
        found = []
        for child in (child for keeper in keepers for child in psutil.Process(keeper).children()):
            # One that has ended meanwhile is gone, or a zombie.
            with suppress(psutil.NoSuchProcess):
                if "trainer" in child.cmdline():
                    found.append(child.pid)
        return found

    def ranks(self) -> list[int]:
        """The actors of the ranks of this cluster."""
        found = []
        for process in Path("/proc").iterdir():
            try:
                if not process.name.isdigit() or b"ray::NodeRank" not in (process / "cmdline").read_bytes():
                    continue
                if str(self.folder).encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
            except OSError:
                continue
        return sorted(found)

    def folders(self) -> list[Path]:
        """The folders of ranks on both machines."""
        return [path for number in (0, 1) for path in (self.folder / f"files-{number}").glob("rank-*")]

    def cut(self, is_cut: bool) -> None:
        """Cuts the network between the machines, or connects them again."""
        name = f"{self.name}b"
        state = "down" if is_cut else "up"
        subprocess.run(["ip", "-n", name, "link", "set", name, state], check=True)

    def kill(self, number: int) -> None:
        """Kills a machine's processes at once, as a loss of power does."""
        node = self.nodes[number]
        self.nodes[number] = None
        if node is not None:
            for pid in [*_descendants(node.pid), node.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            node.wait()

    def end(self) -> None:
        """Ends all nodes and removes the namespaces."""
        for number in (1, 0):
            node = self.nodes[number]
            if node is not None:
                node.terminate()
                try:
                    node.wait(60)
                except subprocess.TimeoutExpired:
                    self.kill(number)
        shutil.rmtree(self.temporary, ignore_errors=True)
        if self.namespaces:
            for letter in "ab":
                subprocess.run(["ip", "netns", "del", self.name + letter])


def _descendants(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            # A node on loopback alone would not be reached as another machine is.
            pytest.skip("network namespaces are not permitted, and this machine has no address but loopback")
        return probe.getsockname()[0]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
