"""Our side of the training bench: `python training_hone.py SPEC`, the trainer as the service starts it.

Prints the loss of every step (of pairs, the margin too), with the tokens, the operations (see operations.py) and the CPU
time of the process so far.
"""

import json
import sys
import time
from pathlib import Path

from operations import operations_of
from transformers import Trainer

from trainer.protocol.journal import Journal
from trainer.run import run

steps = []
operations = 0.0
write = Journal.write


def watched(self: Journal, type: str, **fields: object) -> None:
    """Records the time of every metric line before it is written."""
    if type == "metric":
        told = {"loss": fields["loss"], "tokens": fields["tokens"]}
        if "rewards/margins" in fields["extra"]:
            told["margin"] = fields["extra"]["rewards/margins"]
        told["operations"] = operations
        steps.append({**told, "cpu_seconds": time.process_time()})
    write(self, type, **fields)


train = Trainer.training_step


def counted(self: Trainer, model: object, inputs: dict, *rest: object) -> object:
    """Counts the operations of a step before it is computed."""
    global operations
    operations += operations_of(self.accelerator.unwrap_model(model), inputs)
    return train(self, model, inputs, *rest)


Journal.write = watched
Trainer.training_step = counted
code = run(sys.argv[1])
if code != 0:
    sys.exit((Path(sys.argv[1]).parent / "journal.jsonl").read_text(encoding="utf-8")[-2000:])
print("\n" + json.dumps(steps))
