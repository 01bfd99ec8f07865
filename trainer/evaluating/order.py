"""What `python -m trainer evaluate` reads beside the specification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from trainer.protocol.contracts import Strict

# The file's name in the folder of the evaluation (docs/job-folder.md).
NAME = "evaluate.json"


class Order(Strict, frozen=True):
    """`adapter` is the folder of a PEFT adapter, None to score the base model; `template` the file with the
    prompt template of its training, None for the model's own. The results of the first `kept_rows` rows are
    kept. `graders` score the answers, by name."""

    adapter: str | None
    template: str | None
    kept_rows: int
    graders: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)


def read_order(folder: Path) -> Order:
    """The order in the folder of an evaluation."""
    return msgspec.json.decode((folder / NAME).read_bytes(), type=Order)
