"""The complete configuration of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from trainer.protocol.model_config import ModelConfig


def complete_config(folder: Path | str) -> ModelConfig:
    """config.json of `folder` with its architecture's defaults, which transformers 5 does not write.

    What the file has stays as it is: transformers renames fields and changes values. A number or a text that
    it lacks and that has no default stays out: transformers fills it in from another field, which is not
    always true (Falcon's `num_kv_heads`). Imports the model's code, so call it where that is loaded anyway.
    """
    from transformers import AutoConfig

    own = json.loads((Path(folder) / "config.json").read_text("utf-8"))
    return _complete(own, AutoConfig.from_pretrained(folder))


def _complete(own: Mapping[str, Any], config: PretrainedConfig) -> Any:
    values = json.loads(config.to_json_string(use_diff=False))
    declared = {field.name: field.default for field in fields(config)} if is_dataclass(config) else {}
    merged = {
        name: value
        for name, value in values.items()
        if isinstance(value, (dict, list)) or declared.get(name, value) is not None
    }
    for name, value in own.items():
        part = vars(config).get(name)
        nested = isinstance(value, dict) and hasattr(part, "to_json_string")
        merged[name] = _complete(value, part) if nested else value
    return merged
