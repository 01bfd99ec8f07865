"""Gives the view of a base model new tokens: to its tokenizer, its embedding and its output layer.

The training, its export and whatever asks the trained model with its adapter read the same view. It is made
of the base's files alone, so that it is always the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trainer.export.new_tokens.weights import grow_weights
from trainer.model import view, vocabulary
from trainer.model.tokenizer import load_with_class
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.contracts import Spec
    from trainer.protocol.model_config import ModelConfig

TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
ADDED = "added_tokens.json"
# What a tokenizer.json says of a token that may be anywhere in a text and is shown.
PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}


def grow(folder: Path, spec: Spec, with_weights: bool = True) -> Path:
    """Gives the base model in the view `folder` the `new_tokens` of a job, if it has any; returns the folder.
    A new token's rows of the embedding and of the output layer are the mean of those of the tokens that its
    text was before.

    The embedding gets rows only where it has none left, as those of a padded vocabulary are. Unless
    `with_weights`, only the tokenizer and the configuration change. Failure
    `unsupported` for a text that is one token already, and for models that cannot have new tokens;
    `disk_full` unless the files that change fit on the disk.
    """
    texts = spec.settings.new_tokens
    if not texts:
        return folder
    if not (folder / TOKENIZER).is_file():
        raise _refusal("this model has no tokenizer.json")
    tokenizer = load_with_class(folder)
    pieces = [_pieces(tokenizer, text) for text in texts]
    config: ModelConfig = view.read_model_config(folder) or {}
    rows = vocabulary.embedding_rows(config)
    if rows is None or _has_other_embedding(config):
        raise _refusal("this model's embedding is in more than one part")
    ids = _add(folder, tokenizer, texts)
    needed = max(rows, ids[-1] + 1)
    if with_weights:
        spare = spec.disk.spare_bytes if spec.disk else 0
        grow_weights(folder, rows, needed, dict(zip(ids, pieces, strict=True)), spare)
    _write(folder / CONFIG, _with_rows(config, rows, needed))
    return folder


def grown(config: ModelConfig, folder: Path) -> ModelConfig:
    """The `config` of a base model with the rows that its embedding has in the view `folder`."""
    before, now = (vocabulary.embedding_rows(each) for each in (config, view.read_model_config(folder) or {}))
    return config if before is None or now is None else cast("ModelConfig", _with_rows(config, before, now))


def _pieces(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """The tokens that `text` is without a token of its own."""
    found: list[int] = tokenizer(text, add_special_tokens=False).input_ids
    if len(found) == 1:
        raise Failure(
            "unsupported",
            f"{text!r} is one token of this model already (new_tokens).",
            "Leave it out: the model has an embedding for it.",
        )
    if not found:
        raise Failure(
            "unsupported",
            f"This model's tokenizer makes no token of {text!r} (new_tokens).",
            "Choose another text.",
        )
    return found


def _add(folder: Path, tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[int]:
    """Adds `texts` to the files of the tokenizer; returns their numbers, which go on from its own."""
    document = json.loads((folder / TOKENIZER).read_text("utf-8"))
    tokenizer.add_tokens(texts)
    ids = tokenizer.convert_tokens_to_ids(texts)
    first = ids[0]
    if ids != list(range(first, first + len(texts))):
        raise _refusal("its tokenizer numbers them otherwise than one after another")
    entries = {number: {"content": text, **PLAIN} for number, text in zip(ids, texts, strict=True)}
    document["added_tokens"] = [
        *(document.get("added_tokens") or []),
        *({"id": number, **entry} for number, entry in entries.items()),
    ]
    _write(folder / TOKENIZER, document)
    # Older files name added tokens in further places, of which the converter reads each.
    settings = view.read_json(folder, TOKENIZER_CONFIG)
    if isinstance(settings, dict) and isinstance(settings.get("added_tokens_decoder"), dict):
        settings["added_tokens_decoder"].update({str(number): entry for number, entry in entries.items()})
        _write(folder / TOKENIZER_CONFIG, settings)
    if (folder / ADDED).is_file():
        numbers = json.loads((folder / ADDED).read_text("utf-8"))
        _write(folder / ADDED, {**numbers, **dict(zip(texts, ids, strict=True))})
    read = load_with_class(folder)
    wrong = next(
        (text for text, number in zip(texts, ids, strict=True) if _ids(read, text) != [number]), None
    )
    if wrong is not None:
        raise _refusal(f"its tokenizer does not make one token of {wrong!r}")
    return ids


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return cast("list[int]", tokenizer(text, add_special_tokens=False).input_ids)


def _has_other_embedding(config: ModelConfig) -> bool:
    """Whether each layer has an embedding of its own, as Gemma 3n's."""
    parts: Sequence[Any] = (config, config.get("text_config") or {})
    return any(part.get("vocab_size_per_layer_input") for part in parts)


def _with_rows(config: ModelConfig, rows: int, needed: int) -> dict[str, Any]:
    """`config` with the number of `rows` that the embedding has now, wherever it is said."""
    found: dict[str, Any] = dict(config)
    for name, value in config.items():
        if name == "vocab_size" and value == rows:
            found[name] = needed
        elif name == "text_config" and isinstance(value, dict):
            found[name] = _with_rows(cast("ModelConfig", value), rows, needed)
    return found


def _write(path: Path, content: object) -> None:
    """Replaces a file of the view, which may be a link to the model's."""
    path.unlink(missing_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")


def _refusal(why: str) -> Failure:
    return Failure(
        "unsupported",
        f"This model cannot have new tokens: {why} (new_tokens).",
        "Leave new_tokens out, or choose another model.",
    )
