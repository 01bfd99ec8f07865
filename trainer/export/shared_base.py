"""The base model of a training, whose GGUF all models and checkpoints of that base share.

A file is made once (`checkpoint.py`). Equal names are equal weights, tokenizers and types.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data.template import Template
from trainer.export.gguf.convert import DIRECT_TYPES
from trainer.model.download import find_downloaded
from trainer.protocol.contracts import Spec
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# The file of a model's folder, and of a job's, that says what its base is.
NOTE = "base.json"
# The type for a run without an export; at 8 bits an answer differs little (docs/api.md, Checkpoints).
DEFAULT_TYPE = "Q8_0"
# What of a model's folder a GGUF is made of.
ENDINGS = (".safetensors", ".json", ".model", ".txt", ".jinja")


def base_directory(spec: Spec) -> Path:
    """The base model's directory. It was downloaded before training; nothing is fetched here. Failure
    `model_not_accessible` when it is gone."""
    if spec.model.path is None:
        return find_downloaded(spec.model.name)
    directory = Path(spec.model.path)
    if not directory.is_dir():
        gone = f"The base model is no longer in {directory}."
        advice = "Put it back, and ask again."
        source = spec.model.gguf or (spec.model.adapter and spec.model.adapter.path)
        if source:
            gone = f"What was made of {source} is no longer in {directory}."
            advice = "Start a training of it, or export the model again: both make it once more."
        raise Failure("model_not_accessible", gone, advice)
    return directory


def identity(directory: Path) -> str:
    """Which model is in `directory`: equal only for the same files.

    A file of the hub's cache is known by its name there, a hash of its content, any other by its place, size
    and modification time.
    """
    parts = []
    for path in sorted(directory.iterdir()):
        if not path.name.endswith(ENDINGS) or not path.is_file():
            continue
        real = path.resolve()
        if real.parent.name == "blobs":
            parts.append(f"{path.name} {real.name}")
        else:
            facts = real.stat()
            parts.append(f"{path.name} {real} {facts.st_size} {facts.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def base_type(spec: Spec) -> str:
    """The type of the base: that of the file with which the model itself answers, the export's first."""
    wanted = [name.upper() for name in spec.export.quantizations] if spec.export else []
    direct = [name for name in wanted if name in DIRECT_TYPES]
    return (direct or wanted or [DEFAULT_TYPE])[0]


def end_of_turn(template: Template, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """The token that ends an answer, when it is one token and not the end-of-text token."""
    if not template.stop or template.stop[0] == template.eos_token:
        return None
    token = tokenizer.convert_tokens_to_ids(template.stop[0])
    return token if isinstance(token, int) and token != tokenizer.unk_token_id else None


def note(spec: Spec, template: Template, tokenizer: PreTrainedTokenizerBase) -> dict[str, str]:
    """What NOTE holds: `base`, the identity of the base model, and `file`, the name of its GGUF.

    A GGUF has the token that ends an answer, so that runs with different templates may need different files.
    """
    base = identity(base_directory(spec))
    end = end_of_turn(template, tokenizer)
    return {"base": base, "file": f"{base}-{base_type(spec)}{'' if end is None else f'-{end}'}.gguf"}
