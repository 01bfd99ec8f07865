"""The directory that llama.cpp's converter reads: the base model's files, completed for it.

Only small JSON files are copied; the others are links. Weights are left out:
`trainer.export.merge.weights` reads them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data.template import Template
from trainer.export.tokenizer import document, sentencepiece_model
from trainer.model.quantization.quantized import without_quantization

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

# Files of a model directory about configuration and tokenizer.
WANTED = (
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tekken.json",
)


def build(base: Path, directory: Path, template: Template | None, config: ModelConfig) -> Path:
    """Fills the empty `directory` from the model directory `base` and returns it.

    `config`, without the quantization of stored weights, replaces config.json. `template` is the one of
    training; the base's own is left out, so that the GGUF never has a template that the model was not trained
    with.
    """
    for name in WANTED:
        source = base / name
        if source.is_file() and name != "tokenizer_config.json":
            (directory / name).symlink_to(source.resolve())
    plain = without_quantization(config)
    (directory / "config.json").write_text(json.dumps(plain, ensure_ascii=False), "utf-8")
    tokenizer_config = {}
    if (base / "tokenizer_config.json").is_file():
        tokenizer_config = json.loads((base / "tokenizer_config.json").read_text("utf-8"))
    tokenizer_json = base / "tokenizer.json"
    if tokenizer_json.is_file():
        content = document.read(tokenizer_json)
        # transformers 5 omits this; without it control tokens become plain text in the GGUF.
        tokenizer_config.setdefault(
            "added_tokens_decoder",
            {
                str(token["id"]): {key: token[key] for key in token if key != "id"}
                for token in content.get("added_tokens", [])
            },
        )
        if not (directory / "tokenizer.model").exists() and not (directory / "tekken.json").exists():
            sentencepiece_model.rebuild(tokenizer_json, directory / "tokenizer.model")
    tokenizer_config.pop("chat_template", None)
    if template is not None and template.eos_token:
        tokenizer_config["eos_token"] = template.eos_token
    tokenizer_config.setdefault("tokenizer_class", "PreTrainedTokenizerFast")
    (directory / "tokenizer_config.json").write_text(
        json.dumps(tokenizer_config, ensure_ascii=False), "utf-8"
    )
    if template is not None:
        (directory / "chat_template.jinja").write_text(template.chat_template, "utf-8")
    return directory


def display_name(name: str, rstrip: bool) -> str:
    """The GGUF's `general.name` for a model called `name`.

    When the name contains phi-3, llama.cpp strips the space behind added tokens, and refuses a file without
    Phi-3's four special tokens. So the name contains it exactly when the tokenizer has `rstrip`.
    """
    named = "phi-3" in name.lower() or "phi3" in name.lower()
    if rstrip and not named:
        return f"{name} (phi-3 tokenizer)"
    if named and not rstrip:
        for spelling in ("phi-3", "phi3"):
            while (at := name.lower().find(spelling)) >= 0:
                name = f"{name[:at]}{name[at : at + 3]} 3{name[at + len(spelling) :]}"
    return name
