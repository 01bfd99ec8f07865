"""A rank on a node of the cluster."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

import msgspec
import psutil

from trainer.engines.cluster.outbox import Outbox, Reports
from trainer.engines.cluster.parcels import Store
from trainer.model.versions import PACKAGES, versions
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import DatasetFile, Model, Spec
from trainer.protocol.failures import explain
from trainer.protocol.rank import Rank, lost_a_peer
from trainer.protocol.silent import silent_context
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
        # A rank that is ended before it trains leaves no folder.
        self.outbox = Outbox(self.store.root)

    def facts(self) -> dict[str, Any]:
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

    def fetch(self, stop: str | None) -> tuple[bool, list[tuple[Any, ...]]]:
        """See Outbox."""
        return self.outbox.fetch(stop)

    def run(self, task: dict[str, Any]) -> dict[str, Any]:
        """Trains. Returns `step` (None when the run was stopped before), `stopped` and `metrics`, or `failed`
        with the fields of a Failure."""
        from trainer.engines.cluster import fork, keeper

        place = self.number, self.world, 0, task["meeting"], interface_of(self.address)
        os.environ["HF_HUB_OFFLINE"] = "1"
        folder = self.outbox.folder = self.store.rank_folder()
        try:
            self.store.lay_out(folder, task["files"])
            connection = keeper.ask(self.store.root, folder, place, task)
            if connection is not None:
                return fork.hand_on(connection, self.outbox)
            return train_rank(self.outbox, place, task)
        except Exception as error:
            return failed(error)
        finally:
            self.outbox.flush()
            shutil.rmtree(folder, ignore_errors=True)


def environment() -> dict[str, str | None]:
    """The versions that must be equal on all machines."""
    return {"Python": ".".join(platform.python_version_tuple()[:2]), **versions(PACKAGES)}


def train_rank(reports: Reports, place: tuple[Any, ...], task: dict[str, Any]) -> dict[str, Any]:
    """The result of the rank at `place` (the first fields of Rank), which trains in the folder of its
    `reports`: see NodeRank.run."""
    from trainer.run import train_on_node

    rank = Rank(*place, alone=True)
    try:
        spec = spec_in(reports.folder, msgspec.json.decode(task["spec"], type=Spec))
        context = JobContext(spec, reports, reports, reports) if rank.first else silent_context(spec)
        result = train_on_node(context, rank, task["config"], task["resume"])
        for name in ("artifacts/export.json", "artifacts/reference.safetensors", "trained.json"):
            if rank.first and (reports.folder / name).exists():
                reports.send(name)
        return result
    except Stopped:
        return {"stopped": "stop", "step": None, "metrics": {}}
    except BaseException as error:
        return failed(error)


def failed(error: BaseException) -> dict[str, Any]:
    """The result of a rank that failed by `error`; `peer_lost` where that is because another one was gone."""
    traceback.print_exc()
    sys.stderr.flush()
    return {"failed": explain(error).fields(), "peer_lost": lost_a_peer(error)}


def spec_in(folder: Path, spec: Spec) -> Spec:
    """`spec` for a rank in `folder`, which has the model and the rows."""
    rows = {"dataset": spec.dataset, "validation": spec.validation}
    # Their paths are those of the service's machine, which may be another one.
    render = spec.tools.render if spec.tools else []
    return msgspec.structs.replace(
        spec,
        job_dir=str(folder),
        model=Model(spec.model.name, str(folder / "model")),
        tensorboard_dir=None,
        tools=spec.tools if render and Path(render[-1]).exists() else None,
        **{
            name: DatasetFile(file.name, str(folder / f"{name}.jsonl"), file.rows, file.shape)
            for name, file in rows.items()
            if file is not None
        },
    )


def interface_of(address: str) -> str | None:
    """The network interface with an address. gloo would take that of the host's name, often loopback."""
    for name, found in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in found):
            return name
    return None
