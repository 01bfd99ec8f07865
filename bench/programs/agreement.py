"""What two ranks on this machine agree on in a step, without the step: `python agreement.py STEPS`.

As the trainer does: the number of tokens before it; after it, in one message, the decision to stop or save, the loss
and the metrics. Gradients are not part of it: see the scenario `workers`. Prints the milliseconds of each step as JSON.
"""

import json
import os
import socket
import sys
import time

from trainer.protocol.rank import Rank
from trainer.training.shared_figures import SharedFigures

# What TRL's trainer counts of a micro-batch.
METRICS = {"entropy": [1.0], "mean_token_accuracy": [0.5], "num_tokens": [1000.0]}


def agree(number: int, meeting: str, steps: int) -> list[float]:
    """The seconds of each step at the rank `number` of two."""
    import torch

    torch.set_num_threads(1)
    rank = Rank(
        number, 2, 0, meeting, "lo" if sys.platform == "linux" else None, alone=True
    )
    rank.join("cpu")
    figures = SharedFigures(rank)
    seconds = []
    for _ in range(steps):
        begun = time.perf_counter()
        rank.all_reduce(1000)
        figures.share([0, 2.5, 1e12, 1000, 1000], METRICS)
        seconds.append(time.perf_counter() - begun)
    rank.leave()
    return seconds


def main(steps: int) -> None:
    """Measures with a copy of this process as the other rank."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        meeting = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    other = os.fork()
    if other == 0:
        agree(1, meeting, steps)
        os._exit(0)
    seconds = agree(0, meeting, steps)
    os.waitpid(other, 0)
    print(json.dumps([1000 * step for step in seconds]))


main(int(sys.argv[1]))
