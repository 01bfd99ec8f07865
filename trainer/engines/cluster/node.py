"""A rank on a node of the cluster."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import traceback
from typing import Any

import msgspec

from trainer.describe import PACKAGES, versions
from trainer.engines.cluster.outbox import Outbox
from trainer.engines.cluster.parcels import Store
from trainer.engines.rank import Rank
from trainer.engines.silent import silent_context
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import DatasetFile, Model, Spec
from trainer.protocol.failures import explain
from trainer.protocol.stop import Stopped


class NodeRank:
    """An actor: one rank, with a folder of its own in place of the job's.

    Two of its methods run at a time, so that what rank 0 reports can be fetched while it trains.
    """

    def __init__(self, number: int, world: int, address: str) -> None:
        self.number = number
        self.world = world
        self.address = address
        self.store = Store()
        self.folder = self.store.rank_folder()
        self.outbox = Outbox(self.folder)

    def facts(self) -> dict[str, Any]:
        """What must be equal on all machines, and the port where this rank would meet the others."""
        with socket.create_server((self.address, 0)) as server:
            port = server.getsockname()[1]
        python = ".".join(platform.python_version_tuple()[:2])
        return {
            "versions": {"Python": python, **versions(PACKAGES)},
            "meeting": f"tcp://{self.address}:{port}",
        }

    def lacks(self, prints: list[str]) -> list[str]:
        """Those of the files that this node has not."""
        return self.store.lacks(prints)

    def add(self, name: str, piece: bytes, first: bool, last: bool) -> None:
        """Adds a piece of a file to what this node has."""
        self.store.add(name, piece, first, last)

    def fetch(self, stop: str | None) -> tuple[bool, list[tuple[Any, ...]]]:
        """See Outbox."""
        return self.outbox.fetch(stop)

    def run(self, task: dict[str, Any]) -> dict[str, Any]:
        """Trains. Returns `step` (None when the run was stopped before), `stopped` and `metrics`, or `failed`
        with the fields of a Failure."""
        try:
            self.store.lay_out(self.folder, task["files"])
            return self._train(task)
        except Stopped:
            return {"stopped": "stop", "step": None, "metrics": {}}
        except BaseException as error:
            traceback.print_exc()
            sys.stderr.flush()
            return {"failed": explain(error).fields()}
        finally:
            self.outbox.flush()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _train(self, task: dict[str, Any]) -> dict[str, Any]:
        from trainer.run import train_on_node

        spec = msgspec.json.decode(task["spec"], type=Spec)
        rows = {"dataset": spec.dataset, "validation": spec.validation}
        spec = msgspec.structs.replace(
            spec,
            job_dir=str(self.folder),
            model=Model(spec.model.name, str(self.folder / "model")),
            tensorboard_dir=None,
            **{
                name: DatasetFile(file.name, str(self.folder / f"{name}.jsonl"), file.rows, file.shape)
                for name, file in rows.items()
                if file is not None
            },
        )
        rank = Rank(self.number, self.world, 0, task["meeting"], interface_of(self.address), alone=True)
        if rank.first:
            context = JobContext(spec, self.outbox, self.outbox, self.outbox)
        else:
            context = silent_context(spec)
        os.environ["HF_HUB_OFFLINE"] = "1"
        result = train_on_node(context, rank, task["config"], task["resume"])
        for name in ("trained.json", "reference.safetensors"):
            if rank.first and (self.folder / name).exists():
                self.outbox.send(name)
        return result


def interface_of(address: str) -> str | None:
    """The network interface with an address. gloo would take that of the host's name, often loopback."""
    import psutil

    for name, found in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in found):
            return name
    return None
