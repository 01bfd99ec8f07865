"""How a program of the trainer that is asked for something answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from trainer.protocol.failures import explain


def print_result(work: Callable[[], object]) -> int:
    """Prints what `work` returns as a line of JSON and returns exit status 0. If it fails, prints
    `{"failed": …}` with the fields of the journal's `failed` instead and returns 1."""
    try:
        print(json.dumps(work(), allow_nan=False))
        return 0
    except Exception as error:
        print(json.dumps({"failed": explain(error).fields()}))
        return 1
    finally:
        sys.stdout.flush()
