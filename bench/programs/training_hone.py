"""Our side of the training bench: `python training_hone.py SPEC`, the trainer as the service starts it.

Prints the loss of every step, with the tokens and the CPU time of the process so far.
"""

import json
import sys
import time
from pathlib import Path

from trainer.protocol.journal import Journal
from trainer.run import run

steps = []
write = Journal.write


def watched(self: Journal, type: str, **fields: object) -> None:
    """Records the time of every metric line before it is written."""
    if type == "metric":
        told = {"loss": fields["loss"], "tokens": fields["tokens"]}
        steps.append({**told, "cpu_seconds": time.process_time()})
    write(self, type, **fields)


Journal.write = watched
code = run(sys.argv[1])
if code != 0:
    sys.exit((Path(sys.argv[1]).parent / "journal.jsonl").read_text(encoding="utf-8")[-2000:])
print("\n" + json.dumps(steps))
