"""Finds the devices of a cluster that a run gets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.engines.cluster import address

if TYPE_CHECKING:
    from ray.util.placement_group import PlacementGroup

    from trainer.data.job import Job

# How long a run that has lost a worker waits for devices: a machine may start again meanwhile.
RETURN_SECONDS = 300.0
POLL_SECONDS = 0.2
# How long the devices of a lost worker may take to become free, and how often those in use are looked at.
IN_USE_SECONDS = 5.0
IN_USE = "waiting for devices of the cluster, which are in use"
# The name of the placement groups of all runs, also of other services.
GROUP = "hone"


@dataclass(frozen=True)
class Placement:
    """Ray's placement group of a run, what each of its ranks gets (`slot`), and the nodes and their addresses
    by rank."""

    group: PlacementGroup
    slot: dict[str, int]
    node_ids: list[str]
    nodes: list[str]


def share(job: Job, where: str, patience: float) -> dict[str, int]:
    """What each rank gets: a GPU where there is one for each, and as many cores as there are for all of them.

    Waits `patience` seconds for a node that may come back; Failure `cluster_unavailable` when there are too
    few.
    """
    workers = job.settings.workers
    deadline = time.monotonic() + patience
    while True:
        job.beat_or_stop()
        nodes = address.look(where)
        gpus = sum(node["gpus"] for node in nodes)
        on_gpus = job.settings.device == "cuda" or (job.settings.device == "auto" and gpus >= workers)
        count = gpus if on_gpus else sum(node["cpus"] for node in nodes)
        if count >= workers:
            break
        if time.monotonic() > deadline:
            listed = ", ".join(f"{node['address']} with {node['cpus']} and {node['gpus']}" for node in nodes)
            raise address.unavailable(
                f"workers is {workers}, and the cluster has {count} {'GPUs' if on_gpus else 'cores'}. "
                f"Its nodes with their cores and GPUs: {listed}.",
                f"Set workers to {count} or less, or add machines with `hone join`.",
            )
        time.sleep(POLL_SECONDS)
    if on_gpus:
        return {"CPU": min(max(1, node["cpus"] // node["gpus"]) for node in nodes if node["gpus"]), "GPU": 1}
    most = max(node["cpus"] for node in nodes)
    fits = (size for size in range(most, 0, -1) if sum(node["cpus"] // size for node in nodes) >= workers)
    return {"CPU": next(fits)}


def place(job: Job, where: str) -> Placement:
    """Gets the devices of `job`, and waits while they are in use.

    Failure `cluster_unavailable` when there are too few; Stopped.
    """
    import ray
    from ray.util.placement_group import placement_group, placement_group_table, remove_placement_group

    slot = share(job, where, RETURN_SECONDS if job.lost else 0)
    workers = job.settings.workers
    _let_others_go_first(job)
    group = placement_group([slot] * workers, strategy="PACK", name=GROUP)
    if not _ready_within(job, group, IN_USE_SECONDS):
        # Another run has them, as long as there are still enough.
        job.phase("load", None, IN_USE)
        while not _ready_within(job, group, IN_USE_SECONDS):
            changed = share(job, where, RETURN_SECONDS)
            if changed != slot:
                remove_placement_group(group)
                slot = changed
                group = placement_group([slot] * workers, strategy="PACK", name=GROUP)
    table = placement_group_table(group)["bundles_to_node_id"]
    known = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes()}
    node_ids = [table[number] for number in range(workers)]
    return Placement(group, slot, node_ids, [known[node] for node in node_ids])


def _let_others_go_first(job: Job) -> None:
    """Waits while another run waits for devices: Ray would give those that are free to whoever needs fewer,
    and a run that needs many might never get them."""
    from ray.util.placement_group import placement_group_table

    begun, reported = time.monotonic(), False
    while any(
        group["name"] == GROUP and group["state"] == "PENDING" for group in placement_group_table().values()
    ):
        job.beat_or_stop()
        if not reported and time.monotonic() - begun > IN_USE_SECONDS:
            job.phase("load", None, IN_USE)
            reported = True
        time.sleep(POLL_SECONDS)


def _ready_within(job: Job, group: PlacementGroup, seconds: float) -> bool:
    """Whether the devices of `group` are free within `seconds`."""
    import ray

    ready, deadline = group.ready(), time.monotonic() + seconds
    while not ray.wait([ready], timeout=POLL_SECONDS)[0]:
        job.beat_or_stop()
        if time.monotonic() > deadline:
            return False
    return True
