"""A side of a training on a GPU: `python gpu_training.py PART,… SPEC`, or `python gpu_training.py script PROGRAM ARGUMENT…`.

Imports everything, and begins when a line comes on standard input: sides are measured one after the other, but wait for
their imports together. Ours is the trainer as the service starts it; each PART, of `MEASURED` in trainer/kernels/allowed.py, is
allowed on the GPU, where it may not be yet, and with `plain` nothing of ours is. Prints a JSON line: of each step the loss,
the tokens and the time, and the most memory that tensors took and that torch reserved so far, in bytes.
"""

import gc
import json
import os
import runpy
import sys
import time
from pathlib import Path

import torch

from trainer.kernels import allowed
from trainer.preload import load
from trainer.protocol.journal import Journal
from trainer.warm import MODULES

write = Journal.write
steps: list[dict] = []


def watched(self: Journal, type: str, **fields: object) -> None:
    """Records every step when it is written."""
    if type == "metric":
        step = {"loss": fields["loss"], "tokens": fields["tokens"], "at": time.time()}
        if torch.cuda.is_available():
            step["memory"] = torch.cuda.max_memory_reserved()
            step["allocated"] = torch.cuda.max_memory_allocated()
        steps.append(step)
    write(self, type, **fields)


def train(spec: str, parts: list[str]) -> None:
    """Runs the job of `spec` with `parts` of ours alone."""
    from trainer.run import run

    if "plain" in parts:
        os.environ[allowed.PLAIN] = "1"
    # Only what was asked for, whatever is allowed by now.
    allowed.MEASURED.update(
        {
            part: ("cpu", "cuda") if part in parts else ("cpu",)
            for part in allowed.MEASURED
        }
    )
    Journal.write = watched
    if run(spec) != 0:
        sys.exit(
            (Path(spec).parent / "journal.jsonl").read_text(encoding="utf-8")[-2000:]
        )
    print("\n" + json.dumps(steps))


load(MODULES)
gc.enable()
kind, program, *arguments = sys.argv[1:]
if sys.stdin.readline() == "":
    sys.exit(1)
if kind == "script":
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(Path(program).parent))
    runpy.run_path(program, run_name="__main__")
else:
    train(program, kind.split(","))
