"""What a loading found: which tensors of the files the model needs, lacks, or has no place for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, TypeGuard

from trainer.model import text_part
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

    from trainer.protocol.model_config import ModelConfig

# Tensors that a message names.
NAMED = 3

# Constants that older versions of transformers saved beside the weights.
CONSTANTS = re.compile(r"(^|\.)(masked_bias|inv_freq|position_ids)$")
# Scales of activations and of the cache of keys and values, which training in full precision does not use.
ACTIVATION_SCALES = re.compile(r"(activation|input|output|[kqv])_scale$")
# Layers that predict further tokens, which transformers does not train.
MULTI_TOKEN = re.compile(r"(^|\.)(mtp|nextn)")
LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")


class Report(TypedDict):
    """transformers' `output_loading_info`."""

    missing_keys: set[str]
    unexpected_keys: set[str]
    mismatched_keys: set[tuple[str, Sequence[int], Sequence[int]]]


def check(model: PreTrainedModel, report: Report, config: ModelConfig, new_head: bool = True) -> None:
    """Failure `bad_model` unless the files have all tensors of `model`, in its shapes, and no others.

    `report` is transformers' own (`output_loading_info`), which already leaves out tied weights and what a
    class is known to ignore; `config` is the model's config.json. With `new_head` a head that the
    checkpoint's own class does not have is to be trained, such as that of a reward model. Of a text part, the
    tensors of the other parts are left out.
    """
    kind = type(model)
    is_part = text_part.find(config) is not None
    own = None if is_part else _own_names(kind, model.config, config)

    def is_new(name: str) -> bool:
        return new_head and own is not None and _plain(name, kind.base_model_prefix) not in own

    missing = sorted(name for name in report["missing_keys"] if not is_new(name))
    wrong = sorted(report["mismatched_keys"])
    unexpected = report["unexpected_keys"]
    if is_part:
        unexpected = {name for name in unexpected if not text_part.is_left_out(model, name)}
    surplus = sorted(_surplus(model, unexpected, config, own))
    if not missing and not wrong and not surplus:
        return
    parts = []
    if missing:
        parts.append(f"{_tensors(missing)} missing from the files ({_some(missing)})")
    if wrong:
        name, stored, needed = wrong[0]
        shapes = f"{name} has {tuple(stored)} and config.json asks for {tuple(needed)}"
        parts.append(f"{_tensors(wrong)} of another shape ({shapes})")
    if surplus:
        parts.append(f"{_tensors(surplus)} in the files without a place in the model ({_some(surplus)})")
    raise Failure(
        "bad_model",
        f"The model's files do not fit {kind.__name__}: {'; '.join(parts)}.",
        _advice(missing, surplus),
        f"missing: {missing[:50]}; other shapes: {wrong[:50]}; surplus: {surplus[:50]}"[:4000],
    )


def _advice(missing: list[str], surplus: list[str]) -> str:
    if missing and surplus:
        return (
            "The names in the files and in the model differ. Save the model again with save_pretrained of "
            "transformers, or choose another copy of it."
        )
    if surplus:
        return (
            "Check that config.json belongs to these weights (its number of layers, its architecture), or "
            "choose another copy of the model."
        )
    return (
        "Hone does not train on random numbers in place of weights. Choose a complete copy of the model, or "
        "correct config.json if it does not belong to these weights."
    )


def _tensors(names: Sequence[object]) -> str:
    return "1 tensor is" if len(names) == 1 else f"{len(names)} tensors are"


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")


def _surplus(model: PreTrainedModel, names: set[str], config: ModelConfig, own: set[str] | None) -> list[str]:
    """Those of `names`, found in the files and not in `model`, that training without them would lose."""
    buffers = {name for name, _ in model.named_buffers()}
    quantized = bool(config.get("quantization_config"))
    found = [
        name
        for name in names
        if name not in buffers
        and not CONSTANTS.search(name)
        and not (quantized and ACTIVATION_SCALES.search(name))
        and not _predicts_further(name, config)
    ]
    if own is None:
        return found
    # Another class was saved: its head has no place here. A tensor of a kind that the model has does belong
    # to it, as those of one layer too many do.
    kinds = {_kind(name) for name in model.state_dict()}
    prefix = type(model).base_model_prefix
    return [name for name in found if _plain(name, prefix) not in own and _kind(name) in kinds]


def _predicts_further(name: str, config: ModelConfig) -> bool:
    """Whether a tensor is of the layers for multi-token prediction that config.json names."""
    text = config.get("text_config") or config
    further = text.get("num_nextn_predict_layers") or text.get("mtp_num_hidden_layers") or 0
    layers = text.get("num_hidden_layers")
    if not isinstance(further, int) or not further or not isinstance(layers, int):
        return False
    layer = LAYER.search(name)
    return bool(MULTI_TOKEN.search(name)) or (
        layer is not None and layers <= int(layer[1]) < layers + further
    )


def _own_names(
    kind: type[PreTrainedModel], settings: PretrainedConfig, config: ModelConfig
) -> set[str] | None:
    """The names of the tensors of the class that the files were saved from; None where it is `kind` itself or
    not known."""
    import torch
    import transformers

    own = getattr(transformers, (config.get("architectures") or [""])[0], None)
    if own is None or own is kind or not _is_model(own) or not isinstance(settings, own.config_class):
        return None
    with torch.device("meta"):
        return {_plain(name, own.base_model_prefix) for name in own(settings).state_dict()}


def _is_model(kind: object) -> TypeGuard[type[PreTrainedModel]]:
    import transformers

    return isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)


def _plain(name: str, prefix: str) -> str:
    """A tensor's name without the prefix of the model's body."""
    return name.removeprefix(f"{prefix}.") if prefix else name


def _kind(name: str) -> str:
    """A tensor's name without the numbers of its layer and expert."""
    return re.sub(r"\.\d+(?=\.)", ".#", name)
