"""The files beside the weights of a model that an adapter is merged into."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from trainer.model import check, view

CONFIGS = ("config.json", "generation_config.json")
TOKENIZER_CONFIG = "tokenizer_config.json"
# Where chat templates are beside the tokenizer's configuration.
TEMPLATES = (view.TEMPLATE, "chat_template.json")


def copy_small_files(adapter: Path, base: Path, folder: Path) -> None:
    """Copies the configuration of `base` to `folder`, and the tokenizer and the chat template: those of
    `adapter`, a folder, where it has its own, else those of the base."""
    for name in (*CONFIGS, view.INDEX):
        _copy(base, name, folder)
    own_tokenizer = any(view.find(adapter, name) for name in check.TOKENIZER_FILES)
    own_template = _has_template(adapter)
    for name in _tokenizer_files(adapter if own_tokenizer else base):
        _copy(adapter if own_tokenizer else base, name, folder)
    for name in TEMPLATES:
        _copy(adapter if own_template else base, name, folder)
    if own_tokenizer != own_template:
        _take_template(adapter if own_template else base, folder)


def _take_template(source: Path, folder: Path) -> None:
    """Makes the template in the tokenizer's configuration that of `source`, or none."""
    config = view.read_json(folder, TOKENIZER_CONFIG)
    config = config if isinstance(config, dict) else {}
    theirs = view.read_json(source, TOKENIZER_CONFIG)
    template = theirs.get("chat_template") if isinstance(theirs, dict) else None
    if template == config.get("chat_template"):
        return
    config.pop("chat_template", None)
    if template:
        config["chat_template"] = template
    (folder / TOKENIZER_CONFIG).write_text(json.dumps(config, ensure_ascii=False), "utf-8")


def _has_template(folder: Path) -> bool:
    config = view.read_json(folder, TOKENIZER_CONFIG)
    inside = isinstance(config, dict) and config.get("chat_template")
    return bool(inside) or any(view.find(folder, name) for name in TEMPLATES)


def _tokenizer_files(folder: Path) -> list[str]:
    """The files of a tokenizer, without those of templates."""
    known = {*view.LINKED, "special_tokens_map.json", TOKENIZER_CONFIG}.difference(TEMPLATES)
    return [
        name for name in sorted(os.listdir(folder)) if name in known or name.endswith(view.LINKED_ENDINGS)
    ]


def _copy(source: Path, name: str, folder: Path) -> None:
    path = view.find(source, name)
    if path is not None:
        shutil.copyfile(path, folder / name)
