"""`python -m trainer base-template PATH`: writes the prompt template of a base model that answers untrained.

It is the one that a training would choose where nobody asks for another. The model is read from standard
input, as a specification has it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import msgspec

from trainer.data import template
from trainer.gguf_base import make as gguf_base
from trainer.model import check
from trainer.model.tokenizer import load_with_class
from trainer.model.view import make_view
from trainer.protocol.contracts import Model
from trainer.protocol.failures import Failure
from trainer.protocol.print_result import print_result
from trainer.registry import create

# What a model is asked as that was trained for nothing yet: both families that write have them.
TASK, STRATEGY = "text-generation", "sft"


def write(path: str) -> int:
    """Writes the template to `path` and prints as what the model is asked; returns the exit status."""
    return print_result(lambda: _write(msgspec.json.decode(sys.stdin.buffer.read(), type=Model), Path(path)))


def _write(model: Model, path: Path) -> dict[str, str]:
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        folder = Path(model.path or "")
        if model.gguf is not None:
            folder = gguf_base.small_files(model, Path(scratch) / "gguf")
        config = check.read_config(folder, model.name)
        try:
            family = check.family(config, create("task", TASK), create("strategy", STRATEGY))
        except Failure as failure:
            architecture = (config.get("architectures") or ["unknown"])[0]
            raise Failure(
                "unsupported",
                f"{model.name} ({architecture}) writes no text before it is trained.",
                "Choose a language model.",
            ) from failure
        tokenizer = load_with_class(make_view(folder, Path(scratch) / "model"))
        decodes = family == "causal"
        chosen = template.choose(tokenizer, config, None) if decodes else template.plain(tokenizer, config)
        template.save(chosen, TASK, path)
    return {"task": TASK, "strategy": STRATEGY}
