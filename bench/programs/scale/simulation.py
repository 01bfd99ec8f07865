"""A discrete-event simulation of gloo's collectives: every message of every rank, on a number of cores."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

# What a rank does next: ("send", to) or ("receive", from).
Act = tuple[str, int]


@dataclass(frozen=True)
class Costs:
    """Seconds: of a core for sending or receiving a message, of a message on its way, and of a byte on it."""

    core: float
    way: float
    byte: float = 0.0


def ring(rank: int, world: int, rounds: int) -> Iterator[Act]:
    """Each round, a rank sends to the next one and waits for the one before."""
    for _ in range(rounds):
        yield "send", (rank + 1) % world
        yield "receive", (rank - 1) % world


def chain(rank: int, world: int) -> Iterator[Act]:
    """A ring with one number: it passes every rank and is added up, and passes every rank again as the sum."""
    for lap in range(2):
        if rank > 0 or lap:
            yield "receive", (rank - 1) % world
        if lap == 0 or rank < world - 2:
            yield "send", (rank + 1) % world


def tree(rank: int, world: int) -> Iterator[Act]:
    """A binomial tree from rank 0: who has the value passes it on, to the farthest first."""
    reach = 1
    while reach < world:
        reach *= 2
    while reach > 1:
        half = reach // 2
        if rank % reach == half:
            yield "receive", rank - half
        elif rank % reach == 0 and rank + half < world:
            yield "send", rank + half
        reach = half


def seconds_of(collective: str, world: int, cores: int, costs: Costs, bytes_each: float = 0.0) -> float:
    """The seconds from the beginning to the last rank's end. `collective` is `all-reduce` (of one number),
    `all-gather` or `broadcast`; `cores` are shared by all ranks, first come, first served. `bytes_each` is the
    size of a message."""

    def acts_of(rank: int) -> Iterator[Act]:
        if collective == "all-gather":
            return ring(rank, world, world - 1)
        return tree(rank, world) if collective == "broadcast" else chain(rank, world)

    acts = [acts_of(rank) for rank in range(world)]
    free = [0.0] * min(cores, world)
    arrived: dict[tuple[int, int], list[float]] = {}
    waiting: dict[tuple[int, int], None] = {}
    # (time, order, rank): when a rank can go on.
    ready = [(0.0, rank, rank) for rank in range(world)]
    heapq.heapify(ready)
    order, end = world, 0.0
    pending: list[Act | None] = [next(own, None) for own in acts]

    def work(at: float) -> float:
        """When a core has handled a message that could be handled at `at`."""
        done = max(at, heapq.heappop(free)) + costs.core
        heapq.heappush(free, done)
        return done

    while ready:
        now, _, rank = heapq.heappop(ready)
        act = pending[rank]
        if act is None:
            end = max(end, now)
            continue
        kind, other = act
        if kind == "receive":
            queue = arrived.get((other, rank))
            if not queue:
                waiting[other, rank] = None
                continue
            if queue[0] > now:
                heapq.heappush(ready, (queue[0], order, rank))
                order += 1
                continue
            queue.pop(0)
            now = work(now)
        else:
            now = work(now)
            there = now + costs.way + bytes_each * costs.byte
            arrived.setdefault((rank, other), []).append(there)
            if (rank, other) in waiting:
                del waiting[rank, other]
                heapq.heappush(ready, (there, order, other))
                order += 1
        pending[rank] = next(acts[rank], None)
        heapq.heappush(ready, (now, order, rank))
        order += 1
    return end
