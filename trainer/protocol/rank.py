"""A rank: one of the processes that train a job together, and how it agrees with the others.

Every rank calls the same methods in the same order. Where no ranks meet they cost nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from trainer.protocol.stop import Stopped

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup

# The folder of the job where its ranks meet; it exists only while they run.
FOLDER = "ranks"


Value = TypeVar("Value")


class WorkerLost(Exception):
    """A rank ended without a result, by no fault of the training."""


def lost_a_peer(error: BaseException) -> bool:
    """Whether a rank failed by `error` because another one was gone."""
    return "gloo" in str(error) or "NCCL" in str(error)


# Rank 0 may tokenize or generate for hours while the others wait. A rank that dies is noticed otherwise.
PATIENCE = timedelta(days=2)


@dataclass
class Rank:
    """Rank `number` of `world`, the one numbered `local` on its machine.

    `meeting` is torch's address for the ranks to find each other (`file://…`, `tcp://…`), empty where this
    process trains without others, and `interface` the network interface that gloo uses, None for its choice.
    """

    number: int = 0
    world: int = 1
    local: int = 0
    meeting: str = ""
    interface: str | None = None
    # Whether it shares its cores with no other rank.
    alone: bool = False
    # Returns when the others are about to join; what it raises ends the wait.
    arrive: Callable[[], None] = field(default=lambda: None, repr=False)
    # Agreement has a group of its own on the CPU, apart from the gradients.
    _group: ProcessGroup | None = field(default=None, repr=False)
    # The environment and the number of threads from before, which the export needs again.
    _before: tuple[dict[str, str], int] | None = field(default=None, repr=False)

    @property
    def first(self) -> bool:
        """Whether this is the rank that reports and writes files."""
        return self.number == 0

    @property
    def meets(self) -> bool:
        """Whether the ranks form a group. A group of one does all that larger ones do, so that its cost can
        be measured."""
        return bool(self.meeting)

    def join(self, device: str) -> None:
        """Meets the other ranks; returns when all are there. `device` is where they train."""
        if not self.meets:
            return
        import torch
        from torch import distributed

        self.arrive()
        self._before = dict(os.environ), torch.get_num_threads()
        os.environ.update(
            RANK=str(self.number),
            WORLD_SIZE=str(self.world),
            LOCAL_RANK=str(self.local),
            # accelerate compares it with WORLD_SIZE before it sees that the ranks have met.
            LOCAL_WORLD_SIZE=str(self.world),
            # Without it accelerate names the device `cpu:0`, which checkpoints cannot be loaded to.
            **({"ACCELERATE_TORCH_DEVICE": "cpu"} if device == "cpu" else {}),
        )
        if self.interface is not None:
            os.environ["GLOO_SOCKET_IFNAME"] = self.interface
        threads = max(1, torch.get_num_threads() // (1 if self.alone else self.world))
        torch.set_num_threads(threads)
        # accelerate sets the number of threads itself unless this is set.
        os.environ["OMP_NUM_THREADS"] = str(threads)
        if device == "cuda":
            torch.cuda.set_device(self.local)
        distributed.init_process_group(
            "nccl" if device == "cuda" else "gloo",
            init_method=self.meeting,
            rank=self.number,
            world_size=self.world,
            timeout=PATIENCE,
        )
        # It is a number only where a process is outside of the group.
        self._group = distributed.new_group(backend="gloo", timeout=PATIENCE)  # type: ignore[assignment]

    def broadcast(self, value: Any = None) -> Any:
        """The `value` of rank 0, at every rank."""
        if not self.meets:
            return value
        from torch import distributed

        values = [value]
        distributed.broadcast_object_list(values, src=0, group=self._group)
        return values[0]

    def decide(self, number: int) -> int:
        """The `number` of rank 0, at every rank: a faster `broadcast`, for what is decided in every step."""
        if not self.meets:
            return number
        import torch
        from torch import distributed

        decided = torch.tensor(number)
        distributed.broadcast(decided, src=0, group=self._group)
        return int(decided)

    def all_gather(self, value: Value) -> list[Value]:
        """The values of all ranks in their order, at every rank."""
        if not self.meets:
            return [value]
        from torch import distributed

        values: list[Value] = [value] * self.world
        distributed.all_gather_object(values, value, group=self._group)
        return values

    def all_gather_numbers(self, numbers: Sequence[float]) -> list[list[float]]:
        """As `all_gather`, of numbers, which must be as many at every rank: one message in place of two."""
        if not self.meets:
            return [list(numbers)]
        import torch
        from torch import distributed

        own = torch.tensor(numbers, dtype=torch.float64)
        found = [torch.empty_like(own) for _ in range(self.world)]
        distributed.all_gather(found, own, group=self._group)
        return [each.tolist() for each in found]

    def all_reduce(self, number: int | Tensor) -> int | Tensor:
        """The sum of the numbers (or tensors of one number) of all ranks, as an integer."""
        if not self.meets:
            return number
        import torch
        from torch import distributed

        total = torch.tensor(int(number))
        distributed.all_reduce(total, group=self._group)
        return int(total)

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Rank 0 goes first, for work whose files the others then find."""
        if self.first:
            yield
            self.broadcast()
        else:
            self.broadcast()
            yield

    def once(self, work: Callable[[], Value]) -> Value:
        """What `work` returns at rank 0, which alone does it; raises Stopped everywhere if it does."""
        if not self.first:
            stopped, result = self.broadcast()
            if stopped:
                raise Stopped
            return result
        try:
            result = work()
        except Stopped:
            self.broadcast((True, None))
            raise
        self.broadcast((False, result))
        return result

    def leave(self) -> None:
        """Leaves the groups; the other ranks need not answer."""
        if self._before is None:
            return
        import torch
        from torch import distributed

        torch.set_num_threads(self._before[1])
        self.restore_environment()
        self._group = None
        if distributed.is_initialized():
            distributed.destroy_process_group()

    def restore_environment(self) -> None:
        """Restores the environment from before `join`, for a process that replaces this one."""
        if self._before is not None:
            os.environ.clear()
            os.environ.update(self._before[0])
