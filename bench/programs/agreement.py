"""What two ranks on this machine exchange in a step, without the step: `python agreement.py STEPS`.

As the trainer does: the gradients of an adapter of 100,000 weights, the stop and save decisions, the number of tokens,
and the figures of the journal. Prints the milliseconds of each step as JSON.
"""

import json
import os
import socket
import sys
import time

from trainer.engines.rank import Rank

WEIGHTS = 100_000
FIGURES = {"train": {"entropy": [1.0], "mean_token_accuracy": [0.5], "num_tokens": [1000.0]}}


def exchange(number: int, meeting: str, steps: int) -> list[float]:
    """The seconds of each step at the rank `number` of two."""
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    rank = Rank(number, 2, 0, meeting, "lo" if sys.platform == "linux" else None, alone=True)
    rank.join("cpu")
    gradients = torch.ones(WEIGHTS)
    seconds = []
    for _ in range(steps):
        begun = time.perf_counter()
        distributed.all_reduce(gradients)
        rank.decide(0)
        rank.total(1000)
        rank.total(1000)
        rank.gather(FIGURES)
        seconds.append(time.perf_counter() - begun)
    rank.leave()
    return seconds


def main(steps: int) -> None:
    """Measures with a copy of this process as the other rank."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        meeting = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    other = os.fork()
    if other == 0:
        exchange(1, meeting, steps)
        os._exit(0)
    seconds = exchange(0, meeting, steps)
    os.waitpid(other, 0)
    print(json.dumps([1000 * step for step in seconds]))


main(int(sys.argv[1]))
