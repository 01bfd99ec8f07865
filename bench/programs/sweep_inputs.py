"""Makes the inputs of the sweep's bench: `python sweep_inputs.py DIR`.

Writes to DIR: `model/`, a small Llama with random weights, and `rows.jsonl`, customers' messages with the
team that each belongs to.
"""

import json
import sys
from pathlib import Path

from trainer.tests import tiny


def main(folder: Path) -> None:
    """Writes model and rows."""
    tiny.build("llama", folder / "model")
    rows = [{"input": text, "output": reply} for text, reply in tiny.sentences(400)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")


main(Path(sys.argv[1]))
