"""Our side of the training bench: `python training_hone.py SPEC`, the trainer as the service starts it.

Prints, for every step, its loss, the tokens so far and the process's own processor time so far.
"""

import json
import sys
import time
from pathlib import Path

from trainer.journal import Journal
from trainer.run import run

steps = []
write = Journal.write


def watched(self: Journal, type: str, **fields: object) -> None:
    """Notes the time of every metric line before it is written."""
    if type == "metric":
        told = {"loss": fields["loss"], "tokens": fields["tokens"]}
        steps.append({**told, "cpu_seconds": time.process_time()})
    write(self, type, **fields)


Journal.write = watched
code = run(sys.argv[1])
if code != 0:
    sys.exit((Path(sys.argv[1]).parent / "journal.jsonl").read_text(encoding="utf-8")[-2000:])
print("\n" + json.dumps(steps))
