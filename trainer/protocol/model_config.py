"""What the trainer reads of a model's config.json, which has more fields than these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict


class Quantization(TypedDict, total=False):
    """How the weights in the files are quantized. Includes the fields that
    trainer/model/quantization/packed.py reads."""

    bits: int
    checkpoint_format: str | None
    config_groups: Mapping[str, Any]
    format: str
    group_size: int | None
    load_in_4bit: bool
    load_in_8bit: bool
    quant_method: str
    sparsity_config: Mapping[str, Any] | None
    transform_config: Mapping[str, Any] | None
    version: str | None
    weight_block_size: list[int] | None


class ModelConfig(TypedDict, total=False):
    """A config.json. A field may be absent or null."""

    architectures: list[str] | None
    auto_map: Mapping[str, object]
    compression_config: Quantization
    d_model: int
    dim: int
    head_dim: int
    hidden_size: int
    is_encoder_decoder: bool
    model_type: str
    mtp_num_hidden_layers: int
    n_embd: int
    num_hidden_layers: int
    num_nextn_predict_layers: int
    quantization_config: Quantization
    text_config: ModelConfig
    tie_word_embeddings: bool
    vision_config: Mapping[str, object]
    vocab_size: int


def stored_quantization(config: ModelConfig) -> Quantization | None:
    """The quantization that a config.json names for the weights in the files, or None."""
    for part in (config, config.get("text_config") or {}):
        found = part.get("quantization_config") or part.get("compression_config")
        if isinstance(found, dict):
            return found
    return None
