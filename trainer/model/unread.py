"""Fields of published configurations that transformers does not read."""

from __future__ import annotations


def with_read_names(config: object) -> object:
    """`config` (config.json) with such fields also by the names that transformers reads.

    MiniMax-M2 has the numbers of a head that are rotated as `rotary_dim`; without a `partial_rotary_factor`
    transformers rotates all of them, another model than the published one (huggingface/transformers#48241).
    """
    if not isinstance(config, dict):
        return config
    rotated, size = config.get("rotary_dim"), config.get("head_dim")
    said = {**config, **(config.get("rope_parameters") or {})}
    if (
        type(rotated) is int
        and type(size) is int
        and 0 < rotated < size
        and "partial_rotary_factor" not in said
    ):
        config = {**config, "partial_rotary_factor": rotated / size}
    if "text_config" in config:
        config = {**config, "text_config": with_read_names(config["text_config"])}
    return config
