"""Counts what two ranks say to each other in a step and at a checkpoint of a real training."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

# The steps before are not counted: DDP makes its buckets in the first.
FIRST = 2
STEPS = 6


def measure(root: Path) -> dict[str, Any]:
    """The calls of rank 0 by name, in a step that is logged (without DDP's own) and at a checkpoint."""
    from trainer.tests import jobs, tiny

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        tiny.build("llama", model)
        spec = jobs.make(
            Path(folder) / "job",
            model,
            workers=2,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            max_steps=STEPS,
            save_steps=STEPS,
        )
        told = Path(folder) / "calls.json"
        environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "2", "HF_HUB_OFFLINE": "1"}
        command = [sys.executable, __file__, str(told), "run", str(spec)]
        ran = subprocess.run(
            command, check=False, env=environment, cwd=spec.parent, capture_output=True, text=True
        )
        if ran.returncode:
            raise RuntimeError(f"the training failed: {ran.stderr[-2000:]}")
        return json.loads(told.read_text())


def count_calls(told: Path) -> None:
    """Wraps torch's collectives and the journal, so that `told` gets the calls per step of this process."""
    from torch import distributed
    from torch.distributed import distributed_c10d

    from trainer.protocol.journal import Journal

    names = ("all_reduce", "broadcast", "all_gather", "all_gather_into_tensor", "barrier")
    seen: list[str] = []

    def counted(name: str, call: Any) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            seen.append(name)
            return call(*args, **kwargs)

        return wrapped

    for name in names:
        wrapped = counted(name, getattr(distributed_c10d, name))
        setattr(distributed, name, wrapped)
        setattr(distributed_c10d, name, wrapped)
    write = Journal.write

    def noted(self: Journal, type: str, **fields: Any) -> None:
        write(self, type, **fields)
        if type == "metric":
            seen.append(f"step {fields['step']}")
            if fields["step"] == STEPS - 1:
                at = [seen.index(f"step {step}") for step in (FIRST, STEPS - 1)]
                calls = Counter(name for name in seen[at[0] : at[1]] if name in names)
                per_step = {name: count / (STEPS - 1 - FIRST) for name, count in calls.items()}
                told.write_text(json.dumps({"step": per_step}))
        if type == "checkpoint":
            last = Counter(name for name in seen[seen.index(f"step {STEPS}") :] if name in names)
            told.write_text(json.dumps({**json.loads(told.read_text()), "checkpoint": dict(last)}))

    Journal.write = noted


if __name__ == "__main__":
    path = Path(sys.argv.pop(1))
    count_calls(path)
    from trainer.__main__ import main

    sys.exit(main(sys.argv[1:]))
