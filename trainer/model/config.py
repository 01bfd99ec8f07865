"""The complete configuration of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def complete_config(folder: Path | str) -> dict[str, Any]:
    """config.json of `folder` with its architecture's defaults, which transformers 5 does not write.

    Imports the model's code, so call it where that is loaded anyway.
    """
    from transformers import AutoConfig

    return json.loads(AutoConfig.from_pretrained(folder).to_json_string(use_diff=False))
