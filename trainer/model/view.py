"""A base model's files as every loader sees them.

A view is a folder with links to the files that a loader may open, each of which lies in the model's folder,
and with the model's configuration, reduced (`trainer.model.reduced`) and as transformers reads it
(`trainer.model.unread`). What it does not have, no loader finds: programs, pickles, configurations of
adapters and processors, further folders (but for
`TOOL_TEMPLATE`).
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from trainer.model import reduced, unread
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

TEMPLATE = "chat_template.jinja"
# A further template for conversations with tools; other further ones are of no use.
TOOL_TEMPLATE = "additional_chat_templates/tool_use.jinja"
# Vocabularies and templates, by name or ending.
LINKED = (
    "added_tokens.json",
    TEMPLATE,
    "merges.txt",
    "tekken.json",
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
)
LINKED_ENDINGS = (".model", ".tiktoken")
# The weights in one file, or the index of several.
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
REDUCED: dict[str, Callable[[object], object]] = {
    "config.json": lambda content: unread.with_read_names(reduced.model_config(content)),
    "generation_config.json": reduced.model_config,
    "special_tokens_map.json": reduced.tokenizer_config,
    "tokenizer_config.json": reduced.tokenizer_config,
}


def make_view(model: Path, folder: Path) -> Path:
    """Makes `folder` the view of the model in the folder `model`, in place of an earlier one, and returns it.

    Failure `bad_model` when one of the files lies elsewhere or is no file, or when the index of its weights
    names other places.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    weights = weight_files(model) or [WEIGHTS]
    for name in sorted(os.listdir(model)):
        if name in REDUCED or name == INDEX:
            content = read_json(model, name)
            if content is None:
                continue
            content = _checked_index(content) if name == INDEX else REDUCED[name](content)
            (folder / name).write_text(json.dumps(content, ensure_ascii=False), "utf-8")
        elif name in LINKED or name.endswith(LINKED_ENDINGS) or name in weights:
            path = find(model, name)
            if path is not None:
                _link(path, folder / name)
    for_tools = find(model, TOOL_TEMPLATE)
    if for_tools is not None:
        (folder / TOOL_TEMPLATE).parent.mkdir()
        _link(for_tools, folder / TOOL_TEMPLATE)
    template = _processor_template(model)
    if template is not None and not (folder / TEMPLATE).exists():
        (folder / TEMPLATE).write_text(template, "utf-8")
    return folder


def _processor_template(model: Path) -> str | None:
    """The chat template in `chat_template.json`, where processors keep theirs, if the tokenizer has none."""
    own = read_json(model, "tokenizer_config.json")
    if isinstance(own, dict) and own.get("chat_template"):
        return None
    content = read_json(model, "chat_template.json")
    found = reduced.templates(content.get("chat_template") if isinstance(content, dict) else None)
    if isinstance(found, list):
        named = {item["name"]: item["template"] for item in found}
        return named.get("default") or next(iter(named.values()))
    return found


def find(model: Path, name: str) -> Path | None:
    """The real path of a file of the model folder `model`; None where there is none.

    Failure `bad_model` when it lies elsewhere or is no file.
    """
    try:
        path = (model / name).resolve(strict=True)
        mode = path.stat().st_mode
    except (OSError, RuntimeError):
        return None
    if not any(path.is_relative_to(root) for root in _roots(model)):
        raise Failure(
            "bad_model",
            f"{name} of the model is a link that leads out of the model's folder.",
            "Put the file itself in its place.",
        )
    if not stat.S_ISREG(mode):
        raise Failure(
            "bad_model", f"{name} of the model is not a file.", "Remove it, or choose another model."
        )
    return path


def weight_files(model: Path) -> list[str] | None:
    """The names of the files in the index of the weights of a model folder; None where there is no index.

    Failure `bad_model` when it names anything but files beside it.
    """
    index = read_json(model, INDEX)
    if index is None:
        return None
    return sorted(set(_checked_index(index)["weight_map"].values()))


def read_json(model: Path, name: str) -> Any:
    """The JSON in a file of the model folder `model`, or None."""
    path = find(model, name)
    try:
        return None if path is None else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _roots(model: Path) -> list[Path]:
    """Where the files of a model may lie: in its folder, and for a snapshot in the hub cache in the cache's
    folders of blobs, that of the model and the shared one."""
    folder = model.resolve()
    repository = folder.parent.parent
    if folder.parent.name != "snapshots" or not repository.name.startswith("models--"):
        return [folder]
    return [folder, repository / "blobs", repository.parent / "blobs"]


class Index(TypedDict):
    """What is kept of the index of the weights."""

    metadata: dict[str, float]
    weight_map: dict[str, str]


def read_model_config(model: Path) -> ModelConfig | None:
    """The model's config.json; None where there is none or it is no object."""
    found: object = read_json(model, "config.json")
    return cast("ModelConfig", found) if isinstance(found, dict) else None


def _checked_index(index: Any) -> Index:
    """The index of the weights; Failure `bad_model` unless it names files beside it only."""
    weights = index.get("weight_map") if isinstance(index, dict) else None
    files = weights.values() if isinstance(weights, dict) else [None]
    if weights is None or not all(isinstance(file, str) and _is_plain(file) for file in files):
        raise Failure(
            "bad_model",
            f"{INDEX} is not a list of weight files in the model's folder.",
            "Choose another model, or download it again.",
        )
    metadata = index.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    return {
        "metadata": {"total_size": size} if isinstance(size, (int, float)) else {},
        "weight_map": weights,
    }


def _is_plain(name: str) -> bool:
    return name.endswith(".safetensors") and not any(character in name for character in "/\\:\0")


def _link(source: Path, link: Path) -> None:
    """Makes `link` lead to `source`; a copy where the system allows no links."""
    for make in (os.symlink, os.link, shutil.copyfile):
        try:
            make(source, link)
            return
        except OSError:
            if make is shutil.copyfile:
                raise
