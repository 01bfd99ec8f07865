"""Measures what ranks say to each other: real ranks over gloo on this machine, as forks of one process."""

from __future__ import annotations

import json
import os
import resource
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Where Linux' tcp_info has tcpi_bytes_sent, 64 bits.
BYTES_SENT = 200
# What ranks tell each other after a step with TRL's trainer: see SharedFigures.
FIGURES = [0.0, 0, 2.5, 1e12, 1000, 1000, *[1.5, 1] * 3]


def measure(world: int, rounds: int, adapters: list[int]) -> dict[str, Any]:
    """Figures of `world` ranks: seconds of joining, sockets of a rank, and of each call the seconds (the least of
    all rounds, because other load only adds), the bytes that the busiest rank sends, and the CPU seconds of all
    ranks. `adapters` are bytes that are all-reduced."""
    import torch  # noqa: F401  (once, for all forks)

    with tempfile.TemporaryDirectory() as folder:
        pids = [_fork(number, world, rounds, adapters, Path(folder)) for number in range(world)]
        ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        if any(ended):
            raise RuntimeError(f"ranks ended with {ended}")
        return json.loads((Path(folder) / "figures.json").read_text())


def _fork(number: int, world: int, rounds: int, adapters: list[int], folder: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        figures = _rank(number, world, rounds, adapters, f"file://{folder}/meeting")
        if number == 0:
            (folder / "figures.json").write_text(json.dumps(figures))
        code = 0
    finally:
        os._exit(code)


def _rank(number: int, world: int, rounds: int, adapters: list[int], meeting: str) -> dict[str, Any]:
    import torch
    from torch import distributed

    from trainer.engines.rank import Rank

    torch.set_num_threads(1)
    rank = Rank(number, world, number, meeting, "lo", alone=True)
    begun = time.monotonic()
    rank.join("cpu")
    joined = time.monotonic() - begun
    state = os.urandom(random_state_bytes())
    calls: dict[str, Callable[[], Any]] = {
        "decide": lambda: rank.decide(1),
        "total": lambda: rank.total(number),
        "tell": rank.tell,
        "gather numbers": lambda: rank.gather_numbers(FIGURES),
        "gather checksums": lambda: rank.gather("0" * 64),
        "gather random states": lambda: rank.gather(state),
    }
    for size in adapters:
        gradients = torch.ones(size // 4)
        calls[f"all-reduce {size}"] = lambda gradients=gradients: distributed.all_reduce(gradients)
    figures = {name: _timed(rank, call, rounds) for name, call in calls.items()}
    result = {
        **{"world": world, "join": max(rank.gather(joined)), "sockets": len(list(_sockets()))},
        **{"random_state_bytes": len(state), "calls": figures},
    }
    rank.leave()
    return result


def _timed(rank: Any, call: Callable[[], Any], rounds: int) -> dict[str, float]:
    call()
    # Calls of many bytes are measured less often.
    begun = time.perf_counter()
    call()
    many = rank.tell(max(3, min(rounds, int(2 / (time.perf_counter() - begun)))))
    sent, cpu, seconds = _bytes_sent(), _cpu(), []
    for _ in range(many):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    own = (min(seconds), (_bytes_sent() - sent) / many, (_cpu() - cpu) / many)
    all_ranks = rank.gather(own)
    return {
        "seconds": max(seconds for seconds, _, _ in all_ranks),
        "bytes_sent": max(sent for _, sent, _ in all_ranks),
        "cpu_seconds": sum(cpu for _, _, cpu in all_ranks),
    }


def random_state_bytes() -> int:
    """The size of a rank's random state in a checkpoint, as the library stores it."""
    import io
    import random

    import numpy
    import torch

    made = io.BytesIO()
    states = {"python": random.getstate(), "numpy": numpy.random.get_state(), "cpu": torch.get_rng_state()}
    torch.save(states, made)
    return len(made.getvalue())


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _sockets() -> Any:
    """This process's connected TCP sockets."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            made = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        try:
            made.getpeername()
        except OSError:
            made.close()
            continue
        if made.type == socket.SOCK_STREAM and made.family in (socket.AF_INET, socket.AF_INET6):
            yield made
        made.close()


def _bytes_sent() -> int:
    total = 0
    for made in _sockets():
        info = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTES_SENT + 8)
        total += int.from_bytes(info[BYTES_SENT:], "little")
    return total
