"""The text part of a multimodal model, which is stored as one (…ForConditionalGeneration).

transformers' own tables say which models those are, and which of them have a text part that is a causal
language model. Most have it as a class of its own, such as Gemma3ForCausalLM, which is loaded with the
configuration in `text_config`. Qwen-VL and GLM-V do not: their whole class is made without what is not text.
Either way no memory goes to the other parts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

    from trainer.protocol.model_config import ModelConfig

# Where a checkpoint of a whole model keeps its text part, with or without the whole's own `model.` before.
INNER = r"^(?:model\.)?(?:language_model|text_model)\."


@dataclass(frozen=True)
class TextPart:
    """The text part of an `architecture`; `text_class` is the class for it alone, None if there is none."""

    architecture: str
    text_class: str | None


def find(config: ModelConfig) -> TextPart | None:
    """The text part that can be trained of the model with this config.json; None for a model that is only a
    language model, or whose text part is none."""
    architecture = (config.get("architectures") or [""])[0]
    inner = config.get("text_config") or {}
    if config.get("is_encoder_decoder") or inner.get("is_encoder_decoder"):
        return None
    tables = _tables()
    if architecture.endswith("ForCausalLM") or architecture not in tables.whole:
        return None
    # Older files of some models have the text's sizes beside `vision_config`.
    whole = config.get("model_type")
    kind = inner.get("model_type") or f"{whole}_text"
    found = tables.causal.get(kind) or tables.causal.get(whole or "")
    if found and found != architecture:
        return TextPart(architecture, found)
    return TextPart(architecture, None) if kind in tables.headless else None


def architectures() -> list[str]:
    """The architectures of multimodal models, sorted."""
    return sorted(name for name in _tables().whole if not name.endswith("ForCausalLM"))


def kinds() -> list[str]:
    """The values of `model_type`, of a text part or a whole model, for which `find` finds a text part, sorted
    (src/domain/base-models/model-pair.ts compares with them)."""
    tables = _tables()
    causal = (kind for kind, name in tables.causal.items() if name not in tables.whole)
    return sorted({*causal, *tables.headless})


def causal_classes() -> dict[str, str]:
    """By `model_type`: the class that the installed transformers has for a causal language model."""
    return _tables().causal


def loader(config: ModelConfig, auto_class: str) -> Callable[..., Any]:
    """What loads the model with this config.json as transformers' `auto_class`: its `from_pretrained`, or
    `load` for the text part of a model that is to be a causal language model."""
    import transformers

    part = find(config) if auto_class == "AutoModelForCausalLM" else None
    return getattr(transformers, auto_class).from_pretrained if part is None else partial(load, part)


def load(part: TextPart, directory: Path, **options: object) -> Any:
    """The text part of the model in `directory`, with `options` of `from_pretrained`; what that returns.

    Raises what `from_pretrained` does.
    """
    import transformers

    whole = getattr(transformers, part.architecture)
    if part.text_class is None:
        return _without_other_parts(whole).from_pretrained(directory, **options)
    cls = getattr(transformers, part.text_class)
    stored = transformers.AutoConfig.from_pretrained(directory)
    config = stored.get_text_config(decoder=True)
    if getattr(stored, "quantization_config", None) is not None:
        config.quantization_config = stored.quantization_config
    return cls.from_pretrained(directory, config=config, key_mapping=key_mapping(part), **options)


def key_mapping(part: TextPart | None) -> dict[str, str] | None:
    """What the checkpoint's names of tensors begin with, as patterns, and what those of the text part do;
    None where they are the same, as without a `part`."""
    import transformers

    if part is None or part.text_class is None:
        return None
    prefix = getattr(transformers, part.text_class).base_model_prefix
    return {
        rf"{INNER}(?:{prefix}\.)?": f"{prefix}.",
        # The output layer is beside the layers, whichever way it was stored.
        rf"^{prefix}\.lm_head\.": "lm_head.",
    }


def skeleton(config: ModelConfig, directory: Path) -> PreTrainedModel:
    """The causal language model with this config.json in `directory` without memory for its weights; of a
    model that has other parts, the text part."""
    import torch
    import transformers

    part, stored = find(config), transformers.AutoConfig.from_pretrained(directory)
    with torch.device("meta"):
        if part is None:
            return transformers.AutoModelForCausalLM.from_config(stored)
        if part.text_class is None:
            return _without_other_parts(getattr(transformers, part.architecture))(stored)
        return getattr(transformers, part.text_class)(stored.get_text_config(decoder=True))


def is_left_out(model: PreTrainedModel, tensor: str) -> bool:
    """Whether a tensor of the checkpoint, named as the loaded text part `model` would, is of another part:
    it lies in no module that the text part has."""
    decoder = model.get_decoder()
    at = next(name for name, module in model.named_modules() if module is decoder)
    own = {f"{at}.{name}." for name, _ in decoder.named_children()}
    own |= {f"{name}." for name, module in model.named_children() if module is not model.base_model}
    return not tensor.startswith(tuple(own))


def _without_other_parts(whole: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """The class `whole` whose models have none of the modules beside their decoder."""

    def __init__(self: PreTrainedModel, config: PretrainedConfig) -> None:
        whole.__init__(self, config)
        decoder = self.get_decoder()
        for name, child in list(self.base_model.named_children()):
            if child is not decoder:
                setattr(self.base_model, name, None)

    # The library finds the names of tensors by those of class and module.
    return type(whole.__name__, (whole,), {"__init__": __init__, "__module__": whole.__module__})


@dataclass(frozen=True)
class _Tables:
    """Multimodal architectures, and by `model_type` the classes of causal language models and those of
    decoders without a head of their own."""

    whole: frozenset[str]
    causal: dict[str, str]
    headless: dict[str, str]


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    """transformers' tables, read from the source: importing them imports torch."""
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        return _Tables(frozenset(), {}, {})
    source = Path(spec.origin).parent / "models" / "auto" / "modeling_auto.py"
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            pairs = [
                [
                    item.value
                    for item in pair.elts
                    if isinstance(item, ast.Constant) and isinstance(item.value, str)
                ]
                for pair in ast.walk(node.value)
                if isinstance(pair, ast.Tuple)
            ]
            found[node.targets[0].id] = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
    names = "MODEL_FOR_{}_MAPPING_NAMES".format
    causal = found[names("CAUSAL_LM")]
    whole = {**found[names("IMAGE_TEXT_TO_TEXT")], **found[names("MULTIMODAL_LM")]}
    headless = {
        kind: name
        for kind, name in found["MODEL_MAPPING_NAMES"].items()
        if kind not in causal and kind.removesuffix("_text") in whole and re.search(r"TextModel$", name)
    }
    return _Tables(frozenset(whole.values()), causal, headless)
