"""A rank on a node of the cluster."""

from __future__ import annotations

import os
import platform
import shutil
import socket
from typing import TYPE_CHECKING, TypedDict

import psutil

from trainer.engines.cluster.ask import ask
from trainer.engines.cluster.fork import hand_on
from trainer.engines.cluster.outbox import Message, Outbox
from trainer.engines.cluster.parcels import Store
from trainer.engines.cluster.train_rank import failed, train_rank
from trainer.libraries.versions import PACKAGES, versions

if TYPE_CHECKING:
    from trainer.engines.cluster.train_rank import Ended, RankTask


class Facts(TypedDict):
    """What must be equal on all machines, where a rank would meet the others, and free bytes."""

    versions: dict[str, str | None]
    meeting: str
    disk: int
    memory: int


class NodeRank:
    """An actor: one rank, with a folder of its own in place of the job's.

    Two of its methods run at a time, so that what rank 0 reports can be fetched while it trains.
    """

    def __init__(self, number: int, world: int, address: str) -> None:
        self.number = number
        self.world = world
        self.address = address
        self.store = Store()
        # A rank that is ended before it trains leaves no folder.
        self.outbox = Outbox(self.store.root)

    def facts(self) -> Facts:
        """What must be equal on all machines, where this rank would meet the others, and the bytes of disk
        and memory that are free."""
        with socket.create_server((self.address, 0)) as server:
            port = server.getsockname()[1]
        return {
            "versions": environment(),
            "meeting": f"tcp://{self.address}:{port}",
            "disk": shutil.disk_usage(self.store.root).free,
            "memory": psutil.virtual_memory().available,
        }

    def lacks(self, prints: list[str]) -> list[str]:
        """Those of the files that this node has not."""
        return self.store.lacks(prints)

    def add(self, name: str, piece: bytes, first: bool, last: bool) -> None:
        """Adds a piece of a file to what this node has."""
        self.store.add(name, piece, first, last)

    def fetch(self, stop: str | None) -> tuple[bool, list[Message]]:
        """See Outbox."""
        return self.outbox.fetch(stop)

    def run(self, task: RankTask) -> Ended:
        """Trains. Returns `step` (None when the run was stopped before), `stopped` and `metrics`, or `failed`
        with the fields of a Failure."""
        place = self.number, self.world, 0, task["meeting"], interface_of(self.address)
        os.environ["HF_HUB_OFFLINE"] = "1"
        folder = self.outbox.folder = self.store.rank_folder()
        try:
            self.store.lay_out(folder, task["files"])
            connection = ask(self.store.root, folder, place, task)
            if connection is not None:
                return hand_on(connection, self.outbox)
            return train_rank(self.outbox, place, task)
        except Exception as error:
            return failed(error)
        finally:
            self.outbox.flush()
            shutil.rmtree(folder, ignore_errors=True)


def environment() -> dict[str, str | None]:
    """The versions that must be equal on all machines."""
    return {"Python": ".".join(platform.python_version_tuple()[:2]), **versions(PACKAGES)}


def interface_of(address: str) -> str | None:
    """The network interface with an address. gloo would take that of the host's name, often loopback."""
    for name, found in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in found):
            return name
    return None
