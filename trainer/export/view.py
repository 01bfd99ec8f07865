"""A scratch directory that shows the converter a base model with the gaps of newer savers closed.

Nothing of the base is copied but small JSON files; the rest are links. Weights are not linked: they are
read by `weights`, never by the converter.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trainer.template import Template

from . import sentencepiece_model

#: files of a model directory that say something about configuration or tokenizer
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


def build(base: Path, view: Path, template: Template | None, config: dict[str, Any]) -> Path:
    """Fills `view` (an empty directory) from the model directory `base` and returns it.

    `config` takes the place of config.json. `template` is the one that training used; the base's own is left
    out, so that the GGUF never carries a template that the model was not trained on.
    """
    for name in WANTED:
        source = base / name
        if source.is_file() and name != "tokenizer_config.json":
            (view / name).symlink_to(source.resolve())
    (view / "config.json").write_text(json.dumps(config, ensure_ascii=False), "utf-8")
    told = {}
    if (base / "tokenizer_config.json").is_file():
        told = json.loads((base / "tokenizer_config.json").read_text("utf-8"))
    tokenizer_json = base / "tokenizer.json"
    if tokenizer_json.is_file():
        document = json.loads(tokenizer_json.read_text("utf-8"))
        # transformers 5 leaves this out; without it control tokens become plain text in the GGUF
        told.setdefault(
            "added_tokens_decoder",
            {
                str(token["id"]): {key: token[key] for key in token if key != "id"}
                for token in document.get("added_tokens", [])
            },
        )
        if not (view / "tokenizer.model").exists() and not (view / "tekken.json").exists():
            sentencepiece_model.rebuild(tokenizer_json, view / "tokenizer.model")
    told.pop("chat_template", None)
    if template is not None and template.eos_token:
        told["eos_token"] = template.eos_token
    told.setdefault("tokenizer_class", "PreTrainedTokenizerFast")
    (view / "tokenizer_config.json").write_text(json.dumps(told, ensure_ascii=False), "utf-8")
    if template is not None:
        (view / "chat_template.jinja").write_text(template.chat_template, "utf-8")
    return view


def prefix_space(base: Path, starts_with_special: bool) -> bool | None:
    """Whether llama.cpp must put a space before text, or None where its own rule is right already.

    A tokenizer that adds the space before the very first piece alone adds none when the text begins with a
    special token, while llama.cpp's rule would add one after every special token.
    """
    if not (base / "tokenizer.json").is_file():
        return None
    document = json.loads((base / "tokenizer.json").read_text("utf-8"))
    if not sentencepiece_model.is_sentencepiece(document):
        return None
    pre = document.get("pre_tokenizer") or {}
    nodes = pre.get("pretokenizers", [pre]) if pre else []
    for node in nodes:
        if node.get("type") == "Metaspace":
            scheme = node.get("prepend_scheme", "always")
            return scheme == "always" or (scheme == "first" and not starts_with_special)
    normalizer = document.get("normalizer") or {}
    parts = normalizer.get("normalizers", [normalizer]) if normalizer else []
    return any(part.get("type") == "Prepend" for part in parts)


def display_name(base: Path, name: str) -> str:
    """The GGUF's `general.name`.

    llama.cpp strips the space behind special tokens when the name says phi-3, and refuses the file when
    Phi-3's four special tokens are not all there. So the name says it exactly when the tokenizer does so.
    """
    wanted = False
    if (base / "tokenizer.json").is_file():
        document = json.loads((base / "tokenizer.json").read_text("utf-8"))
        added = {token["content"]: token for token in document.get("added_tokens", [])}
        wanted = any(token.get("rstrip") for token in added.values()) and {
            "</s>",
            "<unk>",
            "<s>",
            "<|endoftext|>",
        } <= set(added)
    says = "phi-3" in name.lower() or "phi3" in name.lower()
    if wanted and not says and added["</s>"].get("rstrip"):
        return f"{name} (phi-3 tokenizer)"
    if says and not wanted:
        for spelling in ("phi-3", "phi3"):
            while (at := name.lower().find(spelling)) >= 0:
                name = f"{name[:at]}{name[at : at + 3]} 3{name[at + len(spelling) :]}"
    return name
