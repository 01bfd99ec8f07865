"""What rank 0 reports to the driver, by the code of both and through a real Ray node, for many ranks.

The other ranks are calls that wait in one actor: the driver waits for as many of them as in a real run.
Nothing is trained.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from trainer.engines.cluster.outbox import Outbox
from trainer.engines.cluster.parcels import PIECE_BYTES, Store
from trainer.training import checkpoints


class Reporter:
    """Rank 0 without a training: an actor as NodeRank, two of whose methods run at a time."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hone-bench-rank-"))
        self.outbox = Outbox(self.folder)
        os.environ["HONE_NODE_FOLDER"] = str(self.folder / "node")
        self.store = Store()

    def ready(self) -> None:
        """Returns when it is there."""

    def end(self) -> None:
        """Deletes its files."""
        shutil.rmtree(self.folder)

    def fetch(self, stop: str | None) -> Any:
        """See Outbox."""
        return self.outbox.fetch(stop)

    def add(self, name: str, piece: bytes, first: bool, last: bool) -> None:
        """See Store."""
        self.store.add(name, piece, first, last)

    def run(self, task: dict[str, Any]) -> dict[str, Any]:
        """Reports what `task` says, and returns the seconds of each part in `metrics`."""
        if "idle" in task:
            time.sleep(task["idle"])
        seconds: dict[str, float] = {}
        begun = time.perf_counter()
        for _ in range(task.get("lines", 0)):
            self.outbox.write("metric", **task["metric"])
        self.outbox.flush()
        seconds["lines"] = time.perf_counter() - begun
        if "states" in task:
            begun = time.perf_counter()
            folder = self.folder / "checkpoints"
            written = checkpoints.temporary_folder(folder)
            for name, size in {"adapter_model.safetensors": 1, "optimizer.pt": 2}.items():
                (written / name).write_bytes(os.urandom(size * task["adapter"]))
            for number, size in enumerate(task["states"]):
                (written / f"rng_state_{number}.pth").write_bytes(os.urandom(size))
            (written / "trainer_state.json").write_text('{"best_global_step": null}')
            made = checkpoints.seal(written, folder, 1, {})
            seconds["seal"] = time.perf_counter() - begun
            begun = time.perf_counter()
            path = made.path.relative_to(self.folder).as_posix()
            self.outbox.write("checkpoint", step=1, path=path, reason="interval", best=False)
            seconds["travel"] = time.perf_counter() - begun
        self.outbox.flush()
        task["others"].end.remote()
        self.end()
        return {"step": 1, "stopped": None, "metrics": seconds}


class Others:
    """The ranks beside rank 0: an actor whose calls of `run` return after `end`."""

    def __init__(self) -> None:
        import asyncio

        self.over = asyncio.Event()

    async def ready(self) -> None:
        """Returns when it is there."""

    async def run(self, task: dict[str, Any]) -> dict[str, Any]:
        """Waits."""
        await self.over.wait()
        return {"step": 1, "stopped": None, "metrics": {}}

    async def end(self) -> None:
        """Ends those that wait."""
        self.over.set()


def measure(worlds: list[int], states: dict[str, int], root: Path) -> dict[str, Any]:
    """The figures by number of ranks. `states` has the bytes of `adapter` and of a rank's `random_state`, the
    number of `lines`, and the seconds of `idle`."""
    os.environ.update(
        RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32), RAY_USAGE_STATS_ENABLED="0"
    )
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray

    # In /tmp, because the paths of Ray's sockets must be short.
    with tempfile.TemporaryDirectory(prefix="hone-ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=200_000_000,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
            logging_level="error",
            runtime_env={"env_vars": {"PYTHONPATH": f"{root}:{Path(__file__).parent}"}},
        )
        try:
            return {"worlds": [_measure(world, states, root) for world in worlds], "delivery": _deliver()}
        finally:
            ray.shutdown()


def _measure(world: int, states: dict[str, int], root: Path) -> dict[str, Any]:
    metric = next(
        line
        for line in map(json.loads, (root / "test/contract/journal.golden.jsonl").read_text().splitlines())
        if line["type"] == "metric"
    )
    fields = {name: value for name, value in metric.items() if name not in ("seq", "time", "type")}
    idle = _follow(world, {"idle": states["idle"]})
    lines = _follow(world, {"lines": states["lines"], "metric": fields})
    saved = {"adapter": states["adapter"], "states": [states["random_state"]] * world}
    saving = _follow(world, saved)
    return {
        "world": world,
        "idle_cpu_share": idle["cpu"] / idle["seconds"],
        "line_seconds": lines["metrics"]["lines"] / states["lines"],
        "line_bytes": lines["journal_bytes"] / states["lines"],
        "seal_seconds": saving["metrics"]["seal"],
        "travel_seconds": saving["metrics"]["travel"],
    }


def _follow(world: int, task: dict[str, Any]) -> dict[str, Any]:
    """The driver's own code follows `world` ranks to their end."""
    import ray

    from trainer.engines.cluster.driver import Run
    from trainer.engines.cluster.report import Report
    from trainer.protocol.journal import Journal

    zero = ray.remote(Reporter).options(num_cpus=0, max_concurrency=2).remote()
    others = ray.remote(Others).options(num_cpus=0).remote()
    ray.get([zero.ready.remote(), others.ready.remote()])
    with tempfile.TemporaryDirectory() as folder:
        job = SimpleNamespace(
            folder=Path(folder),
            spec=SimpleNamespace(tensorboard_dir=None),
            resume=None,
            settings=SimpleNamespace(save_total_limit=1, workers=world),
            journal=Journal(folder),
            heartbeat=SimpleNamespace(beat=lambda: None),
            stop=SimpleNamespace(reason=lambda: None),
            beat_or_stop=lambda: None,
        )
        run = Run.__new__(Run)
        run.job, run.report = job, Report(job)
        run.ranks = [zero, *[others] * (world - 1)]
        run.nodes = run.node_ids = ["127.0.0.1"] * world
        cpu, begun = time.process_time(), time.perf_counter()
        result = run._follow({**task, "others": others})
        return {
            "seconds": time.perf_counter() - begun,
            "cpu": time.process_time() - cpu,
            "metrics": result["metrics"],
            "journal_bytes": (Path(folder) / "journal.jsonl").stat().st_size,
        }


def _deliver() -> dict[str, float]:
    """Seconds for a piece of a file from the driver to a node, as the driver sends them."""
    import ray

    node = ray.remote(Reporter).options(num_cpus=0).remote()
    piece, count = os.urandom(PIECE_BYTES), 8
    ray.get(node.add.remote("warm-up", b"", True, True))
    begun = time.perf_counter()
    for number in range(count):
        shared = ray.put(piece)
        ray.get(node.add.remote("file", shared, number == 0, number == count - 1))
    seconds = time.perf_counter() - begun
    ray.get(node.end.remote())
    return {"piece_seconds": seconds / count, "piece_bytes": PIECE_BYTES}
