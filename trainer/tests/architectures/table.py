"""The table of architectures: what was tried of each, as facts that do not change from run to run.

    python -m trainer.tests.architectures.table FOLDER [NAME …]

tries the toys (all without names) in FOLDER and writes what came of them into
`src/contract/models/architectures.json`, which service, trainer and docs/architectures.md (`npm run
generate`) read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from trainer.tests import jobs
from trainer.tests.architectures import trial

TABLE = jobs.ROOT / "src" / "contract" / "models" / "architectures.json"


def entry(row: dict[str, Any]) -> dict[str, Any]:
    """What the table says of a toy that was tried: `row` is that of `trial.trial`."""
    gguf = bool(row.get("gguf"))
    why = [row[part] for part in ("why", "cause") if row.get(part)]
    return {
        "architecture": row["architecture"],
        "trains": row["outcome"] == "completed" and bool(row.get("trains")),
        "padded": row.get("padded"),
        "adapts": row.get("adapts", ""),
        "gguf": gguf,
        "loss_equal": "loss" in row and max(row["loss"], row["held_out"]) <= trial.SAME_LOSS,
        "tokens_equal": gguf and row["tokens"] == 0,
        "answer_equal": gguf and row["answer"] <= trial.SAME_ANSWER,
        "why": " ".join(why) or None,
    }


def read() -> dict[str, dict[str, Any]]:
    """The table as it was written, by toy."""
    return json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}


def write(entries: dict[str, dict[str, Any]]) -> None:
    """Writes the table, sorted by toy."""
    text = json.dumps(dict(sorted(entries.items())), ensure_ascii=False, indent=2)
    TABLE.write_text(f"{text}\n", "utf-8")


def main(argv: list[str]) -> int:
    """Command line of the module docstring."""
    import torch

    from trainer import preload, warm

    preload.load(warm.MODULES)
    torch.set_num_threads(1)
    entries = read()
    for name in argv[1:] or trial.KNOWN:
        row = trial.trial(name, Path(argv[0]) / name)
        print(json.dumps({"toy": name, **row}, ensure_ascii=False), flush=True)
        entries[name] = entry(row)
        write({known: entries[known] for known in entries if known in trial.KNOWN})
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
