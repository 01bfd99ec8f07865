"""The files beside the merged weights: configuration, tokenizer and chat template, as the model was trained
with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trainer.model import text_part, view
from trainer.model.quantization.quantized import without_quantization
from trainer.model.tokenizer import load_with_class

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.data.template import Template

# How a multimodal model reads images and sound.
PROCESSORS = ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json")
TOKENIZER_CONFIG = "tokenizer_config.json"
# The type of the weights, by its older and its present name.
TYPE_FIELDS = ("torch_dtype", "dtype")
TOKENS = ("bos_token", "eos_token", "pad_token")


def write_small_files(
    base: Path,
    seen: Path,
    folder: Path,
    dtype: str,
    template: Template,
    tokenizer: PreTrainedTokenizerBase,
) -> None:
    """Writes all but the weights of a model whose base is in the folder `base`, of which `seen` is the view.

    The base's files are kept where training changes nothing: other programs and versions read them.
    `template` and `tokenizer` are those of the training, `dtype` is the type of the weights.
    """
    from transformers import PreTrainedTokenizerFast

    config = _read(seen, "config.json")
    _write(folder, "config.json", _typed(dict(without_quantization(cast(Any, config))), dtype))
    _write(folder, "generation_config.json", _generation(seen, template, tokenizer))
    for path in sorted(seen.iterdir()):
        if path.name != view.TEMPLATE and (path.name in view.LINKED or _is_vocabulary(path)):
            shutil.copyfile(path.resolve(), folder / path.name)
    tokenizer_config = _read(seen, TOKENIZER_CONFIG)
    for token in TOKENS:
        value = getattr(tokenizer, token)
        if value is not None:
            tokenizer_config[token] = value
    tokenizer_config["chat_template"] = template.chat_template
    if type(load_with_class(seen)) is PreTrainedTokenizerFast:
        # Otherwise the class that the base names would split texts by rules of its own.
        tokenizer_config["tokenizer_class"] = "PreTrainedTokenizerFast"
    _write(folder, TOKENIZER_CONFIG, tokenizer_config)
    (folder / view.TEMPLATE).write_text(template.chat_template, "utf-8")
    if text_part.find(cast(Any, config)) is not None:
        for name in PROCESSORS:
            found = view.find(base, name)
            if found is not None:
                shutil.copyfile(found, folder / name)


def _is_vocabulary(path: Path) -> bool:
    return path.name.endswith(view.LINKED_ENDINGS)


def _typed(config: dict[str, Any], dtype: str) -> dict[str, Any]:
    """The configuration with the type of the weights wherever it says one, and at its top."""
    named = [field for field in TYPE_FIELDS if field in config] or ["dtype"]
    typed = {**config, **dict.fromkeys(named, dtype)}
    for name, part in config.items():
        if isinstance(part, dict) and any(field in part for field in TYPE_FIELDS):
            typed[name] = {field: dtype if field in TYPE_FIELDS else value for field, value in part.items()}
    return typed


def _generation(seen: Path, template: Template, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """The base's generation_config.json, with every token that ends an answer: those of the base, and those
    that end a turn of the template that the model was trained with."""
    generation, config = _read(seen, "generation_config.json"), _read(seen, "config.json")
    ends = _ids(generation.get("eos_token_id", config.get("eos_token_id")))
    ends += _ids(tokenizer.eos_token_id)
    for text in template.stop:
        ids = tokenizer(text, add_special_tokens=False).input_ids
        if len(ids) == 1:
            ends += ids
    unique = list(dict.fromkeys(ends))
    if unique:
        generation["eos_token_id"] = unique[0] if len(unique) == 1 else unique
    for field in ("bos_token_id", "pad_token_id"):
        known = config.get(field)
        own = getattr(tokenizer, field) if known is None else known
        if own is not None:
            generation.setdefault(field, own)
    return generation


def _ids(value: object) -> list[int]:
    found: Iterable[object] = value if isinstance(value, list) else [value]
    return [token for token in found if isinstance(token, int)]


def _read(folder: Path, name: str) -> dict[str, Any]:
    found = view.read_json(folder, name)
    return found if isinstance(found, dict) else {}


def _write(folder: Path, name: str, value: object) -> None:
    (folder / name).write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", "utf-8")
