"""Trains on the cluster: finds slots, sends what the ranks need, and writes what rank 0 reports."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trainer.engines.cluster import address
from trainer.engines.cluster.node import Facts, NodeRank, environment
from trainer.engines.cluster.parcels import fingerprint, pieces
from trainer.engines.cluster.placement import POLL_SECONDS, place
from trainer.engines.cluster.report import Report
from trainer.protocol.contracts import PARENT
from trainer.protocol.failures import Failure
from trainer.protocol.rank import WorkerLost
from trainer.protocol.stop import Stop, Stopped

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle
    from ray.exceptions import RayActorError
    from ray.util.placement_group import PlacementGroup

    from trainer.data.job import Job, Trained
    from trainer.engines.cluster.outbox import Message
    from trainer.engines.cluster.train_rank import Ended, RankTask

# How long after a rank's failure another one's death is waited for that explains it.
BLAME_SECONDS = 5.0
# The folder that contains the package.
PACKAGE = Path(__file__).parents[2]


def train(job: Job, work: Callable[[Job], Trained], lose: Callable[..., None]) -> Trained:
    """`step`, `stopped` and `metrics` of rank 0, whose artifacts then lie in the job folder.

    Raises Failure, `cluster_unavailable` among them, WorkerLost, and Stopped.
    """
    where = address.wanted() or ""
    job.phase("load", None, f"cluster {where}")
    code = job.folder / "code"
    shutil.rmtree(code, ignore_errors=True)
    leave_out = shutil.ignore_patterns(".*", "__pycache__", "tests", "*.txt", "*.in")
    shutil.copytree(PACKAGE, code / "trainer", ignore=leave_out)
    try:
        connect(where, code / "trainer")
        import ray

        # Ray has taken SIGTERM.
        if isinstance(job.stop, Stop):
            job.stop.listen()
        try:
            return Run(job, where).train()
        finally:
            ray.shutdown()
    finally:
        shutil.rmtree(code, ignore_errors=True)


def connect(where: str, package: Path) -> None:
    """Makes this process a driver of the cluster, whose nodes then have `package`; Failure
    `cluster_unavailable`."""
    # Read when Ray is imported.
    os.environ.update(
        RAY_AUTH_MODE="token",
        RAY_AUTH_TOKEN_PATH=os.environ.get(address.TOKEN_FILE, ""),
        RAY_USAGE_STATS_ENABLED="0",
    )
    if where.startswith(("127.", "localhost:")):
        # Without it Ray replaces a loopback address by another one of the machine.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    address.look(where)
    import ray

    try:
        ray.init(
            address=where,
            runtime_env={"py_modules": [str(package)]},
            logging_level=logging.ERROR,
            log_to_driver=True,
        )
    except Exception as error:
        raise address.unavailable(
            f"This machine cannot use the cluster at {where}: {error}",
            f"It must be one of its nodes: run `hone join {where}` on it.",
        ) from error


class Run:
    """One attempt: the placement, the actors, and what is fetched from rank 0."""

    def __init__(self, job: Job, where: str) -> None:
        self.job = job
        self.where = where
        self.report = Report(job)
        self.ranks: list[ActorHandle] = []

    def train(self) -> Trained:
        """Places the ranks, sends what they need and follows them to the end."""
        import ray

        try:
            placement = place(self.job, self.where)
            self.slot, self.nodes, self.node_ids = placement.slot, placement.nodes, placement.node_ids
            self.job.journal.write("engine", name="cluster", nodes=dict(Counter(self.nodes)))
            self._start(placement.group)
            return self._follow(self._send())
        except ray.exceptions.RayActorError as error:
            raise self._lost(error) from error
        finally:
            self.report.close()

    def _start(self, group: PlacementGroup) -> None:
        import ray
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        actor = ray.remote(NodeRank)
        for number, node in enumerate(self.nodes):
            options = actor.options(
                num_cpus=self.slot["CPU"],
                num_gpus=self.slot.get("GPU", 0),
                max_concurrency=2,
                scheduling_strategy=PlacementGroupSchedulingStrategy(group, number),
            )
            self.ranks.append(options.remote(number, len(self.nodes), node))

    def _get(self, waited: list[ObjectRef]) -> list[Any]:
        """The values of `waited`; WorkerLost and Stopped end the wait."""
        import ray

        left = list(waited)
        while left:
            self.job.beat_or_stop()
            done, left = ray.wait(left, num_returns=len(left), timeout=POLL_SECONDS)
            ray.get(done)
        return ray.get(waited)

    def _send(self) -> RankTask:
        """Sends the files that the nodes lack; returns the ranks' task."""
        facts = self._get([rank.facts.remote() for rank in self.ranks])
        self._refuse_differences([fact["versions"] for fact in facts])
        job = self.job
        paths = {f"model/{path.name}": path for path in job.model_dir.iterdir()}
        paths["dataset.jsonl"] = Path(job.spec.dataset.path)
        if job.spec.validation is not None:
            paths["validation.jsonl"] = Path(job.spec.validation.path)
        if job.spec.start is not None:
            paths[PARENT] = job.spec.start
        probed = job.folder / "probe.json"
        if probed.exists():
            paths["probe.json"] = probed
        for folder in self._checkpoints():
            files = (path for path in folder.rglob("*") if path.is_file())
            paths.update({path.relative_to(job.folder).as_posix(): path for path in files})
        prints = {name: fingerprint(path) for name, path in paths.items()}
        self._deliver({prints[name]: path for name, path in paths.items()}, facts)
        return {
            "spec": msgspec.json.encode(job.spec),
            "config": job.config,
            "resume": job.resume.step if job.resume else None,
            "files": prints,
            "meeting": facts[0]["meeting"],
        }

    def _checkpoints(self) -> list[Path]:
        """The folders of the checkpoint to resume from and of the best one."""
        if self.job.resume is None:
            return []
        newest = self.job.resume.path
        best = self.report.best_step(newest)
        return [
            newest,
            *(path for path in [newest.parent / f"checkpoint-{best}"] if path.is_dir() and path != newest),
        ]

    def _refuse_differences(self, found: list[dict[str, str | None]]) -> None:
        ours = environment()
        for node, theirs in zip(self.nodes, found, strict=True):
            different = [
                f"{name} {theirs[name] or 'not installed'} (here {ours[name] or 'not installed'})"
                for name in ours
                if theirs[name] != ours[name]
            ]
            if different:
                raise address.unavailable(
                    f"The environment of the node {node} differs: {', '.join(different)}.",
                    "Use the same version of Hone there: update it, then run `hone join` again.",
                )

    def _refuse_full(self, first: int, bytes_to_come: int, room: Facts) -> None:
        """Failure when the node of the rank `first` has no room for what it is sent or for the model."""
        job, node = self.job, self.nodes[first]
        spare = job.spec.disk.spare_bytes if job.spec.disk else 0
        if bytes_to_come + spare > room["disk"]:
            raise Failure(
                "disk_full",
                f"The node {node} needs {(bytes_to_come + spare) / 1e9:.1f} GB of disk for the model and the "
                f"rows, and {room['disk'] / 1e9:.1f} GB are free.",
                f"Free some disk space on {node}, then resume.",
            )
        if "GPU" in self.slot:
            return
        ranks = self.node_ids.count(self.node_ids[first])
        least = ranks * least_memory(job)
        if least > room["memory"]:
            free = room["memory"] / 1e9
            raise Failure(
                "out_of_memory_host",
                f"The node {node} needs {least / 1e9:.1f} GB of memory for the model's weights of its "
                f"{ranks} worker{'' if ranks == 1 else 's'}, and {free:.1f} GB are available.",
                f"Close other programs on {node}, or set workers to fewer, or choose a smaller model.",
            )

    def _deliver(self, files: dict[str, Path], facts: list[Facts]) -> None:
        """Sends each node the files that it lacks, once, through its first rank."""
        import ray

        firsts = [self.node_ids.index(node) for node in dict.fromkeys(self.node_ids)]
        leaders = [self.ranks[first] for first in firsts]
        lacking = self._get([leader.lacks.remote(list(files)) for leader in leaders])
        for first, lacks in zip(firsts, lacking, strict=True):
            self._refuse_full(first, sum(files[name].stat().st_size for name in lacks), facts[first])
        for name, path in files.items():
            receivers = [leader for leader, lacks in zip(leaders, lacking, strict=True) if name in lacks]
            for piece, first, last in pieces(path) if receivers else ():
                shared = ray.put(piece)
                self._get([receiver.add.remote(name, shared, first, last) for receiver in receivers])

    def _follow(self, task: RankTask) -> Trained:
        """Writes what rank 0 reports until every rank has ended."""
        runs = {rank.run.remote(task): number for number, rank in enumerate(self.ranks)}
        result: Ended | None = None
        while runs:
            self._take(runs)
            found = self._ended(runs)
            if any("failed" in ended for ended in found.values()):
                raise self._cause(found, runs)
            result = found.get(0, result)
        if result is None:
            raise Stopped
        return result

    def _ended(self, runs: dict[ObjectRef, int]) -> dict[int, Ended]:
        """The results of the ranks that have ended since the last call; removes them from `runs`.

        Stopped when rank 0 was stopped before it trained, which it tells nobody: the others wait for it.
        """
        import ray

        done, _ = ray.wait(list(runs), num_returns=len(runs), timeout=0)
        found = {runs.pop(each): ray.get(each) for each in done}
        if 0 in found and found[0].get("step", 0) is None:
            raise Stopped
        return found

    def _take(self, runs: dict[ObjectRef, int]) -> None:
        """Writes what rank 0 reports."""
        beaten, messages = self._fetch(runs)
        if beaten:
            self.job.heartbeat.beat()
        for message in messages:
            self.report.take(message)

    def _fetch(self, runs: dict[ObjectRef, int]) -> tuple[bool, list[Message]]:
        """What rank 0 reports. Another rank's death ends the wait: rank 0 may hang because of it."""
        import ray

        fetched = self.ranks[0].fetch.remote(self.job.stop.reason())
        waited = [fetched, *runs]
        while fetched in waited:
            done, waited = ray.wait(waited, num_returns=1, timeout=POLL_SECONDS)
            with suppress(ray.exceptions.RayTaskError):
                ray.get(done)
        return ray.get(fetched)

    def _cause(self, found: dict[int, Ended], runs: dict[ObjectRef, int]) -> Exception:
        """Why ranks failed, by those `found` and those that end soon; raises another one's death, or a stop,
        when that explains it."""
        deadline = time.monotonic() + BLAME_SECONDS
        while runs and time.monotonic() < deadline:
            # Rank 0 ends when its reports are taken.
            self._take(runs)
            found = {**found, **self._ended(runs)}
        failed = [number for number, ended in found.items() if "failed" in ended]
        number = min(failed, key=lambda each: (found[each]["peer_lost"], each))
        where = f"Worker {number} on {self.nodes[number]}"
        if found[number]["peer_lost"]:
            said = found[number]["failed"]["evidence"]
            return WorkerLost(f"{where} lost its connection to the others ({said})")
        fields = found[number]["failed"]
        message = f"{where}: {fields['message']}" if number else fields["message"]
        return Failure(**{**fields, "message": message})

    def _lost(self, error: RayActorError) -> WorkerLost:
        from trainer.libraries.ray import is_of

        for number, rank in enumerate(self.ranks):
            if is_of(error, rank):
                return WorkerLost(f"Worker {number} on {self.nodes[number]} was lost")
        return WorkerLost(f"A worker was lost ({str(error).splitlines()[0]})")


def least_memory(job: Job) -> float:
    """The bytes of the model's weights in memory: those in its files, or less when they are quantized."""
    stored = sum(path.stat().st_size for path in job.model_dir.glob("*.safetensors"))
    if job.settings.use_4bit or job.spec.strategy == "qlora":
        return stored / 4
    return stored / 2 if job.settings.use_8bit else stored
