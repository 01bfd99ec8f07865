"""The tables of docs/scale.md, from what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from simulation import Costs, seconds_of

WORLDS = (8, 64, 512)
# Assumed of the network between machines: bytes a second of 10 Gbit/s Ethernet, and seconds to the other side.
BYTES_PER_SECOND = 1.25e9
LATENCY = 50e-6
# Ranks of a machine with as many GPUs.
PER_NODE = 8
# The LoRA adapter and the weights of the example, Llama 3.1 8B: rank 16 on all seven projections of 32 layers.
ADAPTER_WEIGHTS = 32 * 16 * ((4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 14336) * 3)
MODEL_BYTES = 16.06e9
# torch's calls by the collective that they are.
KINDS = {"all_reduce": "all-reduce", "all_gather": "all-gather", "all_gather_into_tensor": "all-gather"}


def hops(kind: str, world: int) -> int:
    """How many messages one after the other a collective needs."""
    return {
        "all-reduce": 2 * (world - 1),
        "all-gather": world - 1,
        "broadcast": math.ceil(math.log2(world)),
    }[kind]


def kinds(calls: dict[str, float]) -> dict[str, float]:
    """Calls of torch by the kind of collective."""
    found: dict[str, float] = {}
    for name, count in calls.items():
        kind = KINDS.get(name, name)
        found[kind] = found.get(kind, 0) + count
    return found


def costs_of(ranks: list[dict[str, Any]]) -> Costs:
    """What a message costs: the CPU time of the most ranks, which keep the cores busy, for a gather (two rings of
    all-gather), and from the all-reduce of two ranks the time that is left."""
    most, two = ranks[-1], ranks[0]
    messages = 2 * most["world"] * hops("all-gather", most["world"])
    core = most["calls"]["gather random states"]["cpu_seconds"] / messages / 2
    way = two["calls"]["total"]["seconds"] / hops("all-reduce", 2) - 2 * core
    return Costs(core, max(0.0, way))


def agreement(step: dict[str, float], world: int, message: float) -> float:
    """Seconds that the small collectives of a step take, by the formula."""
    return message * sum(count * hops(kind, world) for kind, count in step.items())


def tables(measured: dict[str, Any], cores: int) -> str:
    """All tables, as Markdown."""
    return "\n".join([*_checks(measured, cores), "", *_reports(measured), "", *_outlook(measured)])


def _checks(measured: dict[str, Any], cores: int) -> Iterator[str]:
    costs = costs_of(measured["ranks"])
    yield "| measured on this machine | value |"
    yield "|---|---|"
    yield f"| cores | {cores} |"
    yield f"| a core's time for sending or receiving a message, c | {_seconds(costs.core)} |"
    yield f"| a message on its way between two idle ranks, w | {_seconds(costs.way)} |"
    yield f"| a rank's random state in a checkpoint, S | {measured['ranks'][0]['random_state_bytes']:,} bytes |"
    for name, title in (("step", "step that is logged"), ("checkpoint", "checkpoint, and the run's end")):
        calls = ", ".join(f"{count:g} {kind}" for kind, count in kinds(measured["steps"][name]).items())
        yield f"| small collectives of a {title} | {calls} |"
    delivery = measured["reports"]["delivery"]
    rate = delivery["piece_bytes"] / delivery["piece_seconds"]
    yield f"| files from the driver to a node on this machine | {rate / 1e6:,.0f} MB/s |"
    yield ""
    yield (
        "| real ranks here | joined after | sockets of rank 0 | all-reduce of a number | simulated | broadcast "
        "| simulated | gather | simulated | sent by a rank, all-reduce of 16 MiB | 2 (N − 1) / N · B |"
    )
    yield f"|{'---|' * 11}"
    for found in measured["ranks"]:
        world, calls = found["world"], found["calls"]
        size = next(int(name.split()[1]) for name in calls if name.startswith("all-reduce "))
        cells = [str(world), _seconds(found["join"]), str(found["sockets"])]
        for call, kind, count in (
            ("total", "all-reduce", 1),
            ("decide", "broadcast", 1),
            ("gather random states", "all-gather", 2),
        ):
            cells.append(_seconds(calls[call]["seconds"]))
            cells.append(_seconds(count * seconds_of(kind, world, cores, costs)))
        cells += [_bytes(calls[f"all-reduce {size}"]["bytes_sent"]), _bytes(2 * (world - 1) / world * size)]
        yield f"| {' | '.join(cells)} |"


def _reports(measured: dict[str, Any]) -> Iterator[str]:
    yield "| the driver follows N ranks | 8 | 64 | 512 |"
    yield "|---|---|---|---|"
    worlds = measured["reports"]["worlds"]
    rows = {
        "metric lines a second, from rank 0 to the journal": lambda one: f"{1 / one['line_seconds']:,.0f}",
        "bytes of a line": lambda one: f"{one['line_bytes']:.0f}",
        "share of a core, nothing to report": lambda one: f"{one['idle_cpu_share']:.1%}".replace("%", " %"),
        "a checkpoint is written and synced at rank 0": lambda one: _seconds(one["seal_seconds"]),
        "the checkpoint lies in the job folder after that": lambda one: _seconds(one["travel_seconds"]),
    }
    for title, value in rows.items():
        yield f"| {title} | {' | '.join(value(one) for one in worlds)} |"


def _outlook(measured: dict[str, Any]) -> Iterator[str]:
    costs = costs_of(measured["ranks"])
    apart = Costs(costs.core, costs.way + LATENCY)
    message = 2 * costs.core + costs.way + LATENCY
    step = kinds(measured["steps"]["step"])
    state = measured["ranks"][0]["random_state_bytes"]
    adapter = 4 * ADAPTER_WEIGHTS
    reports = {one["world"]: one for one in measured["reports"]["worlds"]}

    def simulated(world: int) -> float:
        return sum(count * seconds_of(kind, world, world, apart) for kind, count in step.items())

    rows = {
        "machines with 8 GPUs": lambda n: f"{n // PER_NODE}",
        "gradients that a rank sends in a step": lambda n: _bytes(2 * (n - 1) / n * adapter),
        "the same, seconds of a machine's link": lambda n: (
            "–" if n <= PER_NODE else _seconds(2 * (n - 1) / n * adapter / BYTES_PER_SECOND)
        ),
        "small collectives of a step, by the formula": lambda n: _seconds(agreement(step, n, message)),
        "the same, simulated": lambda n: _seconds(simulated(n)),
        "to the driver in a step": lambda n: _bytes(reports[n]["line_bytes"]),
        "random states that each rank gathers at a checkpoint": lambda n: _bytes(n * state),
        "all of them on the links": lambda n: _bytes(n * (n - 1) * state),
        "bytes of a checkpoint": lambda n: _bytes(3 * adapter + n * state),
        "files of a checkpoint": lambda n: f"{n + 3}",
        "seconds of the driver's link for a checkpoint": lambda n: _seconds(
            (3 * adapter + n * state) / BYTES_PER_SECOND
        ),
        "model to all machines, if all come from the driver": lambda n: _seconds(
            n / PER_NODE * MODEL_BYTES / BYTES_PER_SECOND
        ),
        "sockets of a rank": lambda n: f"{2 * (n - 1)}",
    }
    yield f"| N = | {' | '.join(map(str, WORLDS))} |"
    yield "|---|---|---|---|"
    for title, value in rows.items():
        yield f"| {title} | {' | '.join(value(world) for world in WORLDS)} |"


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def _bytes(value: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} bytes"
