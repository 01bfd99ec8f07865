"""A model's config.json and generation_config.json, made from a GGUF's metadata.

The names are transformers' (`gguf_parameters`). What its own reader leaves out, such as scaled rotary
embeddings, is added here; `trainer.gguf_base.proof` shows that the configuration means what the file says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trainer.export.gguf.header import Header
from trainer.gguf_base.dequantize import read_tensor
from trainer.libraries.transformers import gguf_parameters
from trainer.protocol.contracts import GGUF_ARCHITECTURES
from trainer.protocol.failures import Failure

# Where llama.cpp divides attention scores by another width than that of a head: layers of Gemma 2 and 3 27B
# (src/models/gemma2.cpp, gemma3.cpp).
LARGEST_GEMMA = {"gemma2": 46, "gemma3": 62}
# Of Falcon, transformers' names are those of no configuration.
FALCON = {
    "context_length": "max_position_embeddings",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "ffn_hidden_size",
    "embedding_length": "hidden_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_kv_heads",
    "attention.layer_norm_epsilon": "layer_norm_epsilon",
}


def make_config(header: Header) -> dict[str, object]:
    """The config.json of the model in the GGUF. Failure `unsupported` for other architectures, and
    `bad_model` when its parameters are incomplete."""
    known = GGUF_ARCHITECTURES.get(header.architecture)
    if known is None:
        raise Failure(
            "unsupported",
            f"A GGUF of the architecture {header.architecture} cannot be a base model.",
            f"Those of {', '.join(GGUF_ARCHITECTURES)} can; or choose the model's safetensors files.",
        )
    try:
        return _config(header, known["model_type"], known["class"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise Failure(
            "bad_model",
            f"{header.path.name} lacks parameters of a model of the architecture {header.architecture}.",
            "Choose another file of this model, or its safetensors files.",
            f"{type(error).__name__}: {error}"[:2000],
        ) from error


def _config(header: Header, model_type: str, class_name: str) -> dict[str, object]:
    from transformers import AutoConfig

    known = gguf_parameters()
    own: dict[str, dict[str, Any]]
    own = {"gemma": {**known["gemma2"], "attention.sliding_window": None}, "falcon": FALCON}
    names = own.get(header.architecture) or known.get(header.architecture)
    names = names or known[model_type]
    fields = {name: value for name, value in names.items() if value}
    values = {value: header.parameter(name) for name, value in fields.items()}
    tokens = header.tokenizer("tokens") or []
    embedding = header.tensors.get("token_embd.weight")
    values |= {
        "vocab_size": embedding.shape[0] if embedding else len(tokens),
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "bos_token_id": header.tokenizer("bos_token_id"),
        "eos_token_id": header.tokenizer("eos_token_id"),
        "pad_token_id": header.tokenizer("padding_token_id"),
    }
    values |= _of_architecture(header)
    theta = values.pop("rope_theta", None) or header.parameter("rope.freq_base")
    # Not among them: the file's own name, which a later reader would take for a place.
    given = {name: value for name, value in values.items() if value is not None and not name.startswith("_")}
    config = AutoConfig.for_model(model_type, **given)
    has = vars(config)
    if "head_dim" in has and "head_dim" not in given and header.parameter("attention.key_length"):
        config.head_dim = header.parameter("attention.key_length")
    if "blk.0.attn_q.bias" in header.tensors and "attention_bias" in has:
        config.attention_bias = True
    _set_rope(header, config, theta)
    config.architectures = [class_name]
    config.dtype = "bfloat16"
    return {**config.to_dict(), "use_cache": True}


def generation_config(header: Header) -> dict[str, object]:
    """Which tokens begin and end a text; the end of a turn ends it, too."""
    ends = [header.tokenizer(name) for name in ("eos_token_id", "eot_token_id")]
    return {
        "bos_token_id": header.tokenizer("bos_token_id"),
        "pad_token_id": header.tokenizer("padding_token_id"),
        "eos_token_id": list(dict.fromkeys(index for index in ends if index is not None)),
    }


def _of_architecture(header: Header) -> dict[str, object]:
    """What an architecture has of its own."""
    kind, found = header.architecture, dict[str, object]()
    if kind in LARGEST_GEMMA:
        width = header.parameter("attention.key_length")
        if header.parameter("block_count") == LARGEST_GEMMA[kind]:
            width = header.parameter("embedding_length") // header.parameter("attention.head_count")
        found["query_pre_attn_scalar"] = width
        found["final_logit_softcapping"] = header.parameter("final_logit_softcapping")
        found["attn_logit_softcapping"] = header.parameter("attn_logit_softcapping")
    if kind == "stablelm":
        found["use_qkv_bias"] = "blk.0.attn_q.bias" in header.tensors
        found["use_parallel_residual"] = "blk.0.ffn_norm.weight" not in header.tensors
        found["qk_layernorm"] = "blk.0.attn_q_norm.weight" in header.tensors
    if kind == "gpt2":
        found["n_positions"] = header.parameter("context_length")
        found["n_inner"] = header.parameter("feed_forward_length")
    if kind == "lfm2":
        # Layers without keys and values are convolutions.
        heads = header.parameter("attention.head_count_kv")
        found["num_key_value_heads"] = max(heads)
        found["layer_types"] = ["full_attention" if number else "conv" for number in heads]
        found["block_auto_adjust_ff_dim"] = False
    if kind == "starcoder2":
        found["use_bias"] = "blk.0.attn_q.bias" in header.tensors
    if kind == "phi3":
        found["sliding_window"] = header.parameter("attention.sliding_window") or None
        found["original_max_position_embeddings"] = header.parameter("rope.scaling.original_context_length")
    if kind == "falcon":
        found |= _of_falcon(header)
    if kind in ("qwen2moe", "qwen3moe"):
        found["moe_intermediate_size"] = header.parameter("expert_feed_forward_length")
        found["shared_expert_intermediate_size"] = header.parameter("expert_shared_feed_forward_length")
        # llama.cpp divides the weights of the chosen experts by their sum (src/models/qwen3moe.cpp), or not.
        found["norm_topk_prob"] = kind == "qwen3moe"
    if kind == "gpt-oss":
        found["intermediate_size"] = header.parameter("expert_feed_forward_length")
        found["sliding_window"] = header.parameter("attention.sliding_window")
    if kind == "gemma4":
        found |= _of_gemma4(header)
    if kind in ("stablelm", "phi3"):
        heads = header.parameter("embedding_length") // header.parameter("attention.head_count")
        found["partial_rotary_factor"] = header.parameter("rope.dimension_count", heads) / heads
    return found


def _of_falcon(header: Header) -> dict[str, object]:
    """Falcon 40B and 11B share keys among groups of heads and 7B among all; 40B alone has two norms."""
    groups = header.parameter("attention.head_count_kv", 1)
    return {
        "new_decoder_architecture": groups > 1,
        "multi_query": True,
        "num_kv_heads": groups,
        "num_ln_in_parallel_attn": 2 if "blk.0.attn_norm_2.weight" in header.tensors else 1,
        "bias": "blk.0.attn_qkv.bias" in header.tensors,
        "parallel_attn": True,
        "alibi": False,
    }


def _of_gemma4(header: Header) -> dict[str, object]:
    """Gemma 4's layers with a window and those without differ in the width and the number of their heads."""
    windows = header.parameter("attention.sliding_window_pattern")
    layers = range(header.parameter("block_count"))
    shared = header.parameter("attention.shared_kv_layers", 0)
    keys = header.parameter("attention.head_count_kv")
    several = isinstance(keys, list)
    widths = header.parameter("feed_forward_length")
    experts = header.parameter("expert_count") or None
    with_keys = [layer for layer in layers[: len(layers) - shared] if not windows[layer]]
    per_layer = header.tensors.get("per_layer_token_embd.weight")
    return {
        "layer_types": ["sliding_attention" if window else "full_attention" for window in windows],
        "head_dim": header.parameter("attention.key_length_swa"),
        "global_head_dim": header.parameter("attention.key_length"),
        "num_key_value_heads": keys[windows.index(True)] if several else keys,
        "num_global_key_value_heads": keys[windows.index(False)] if several else None,
        "num_kv_shared_layers": shared,
        # Values are the keys where a layer has no matrix for them.
        "attention_k_eq_v": any(f"blk.{layer}.attn_v.weight" not in header.tensors for layer in with_keys),
        "intermediate_size": min(widths) if isinstance(widths, list) else widths,
        "use_double_wide_mlp": isinstance(widths, list),
        "hidden_size_per_layer_input": header.parameter("embedding_length_per_layer_input", 0),
        "vocab_size_per_layer_input": per_layer.shape[0] if per_layer else None,
        "final_logit_softcapping": header.parameter("final_logit_softcapping"),
        "enable_moe_block": experts is not None,
        "num_experts": experts,
        "top_k_experts": header.parameter("expert_used_count") if experts else None,
        "moe_intermediate_size": header.parameter("expert_feed_forward_length"),
    }


def _set_rope(header: Header, config: dict[str, object], theta: float | None) -> None:
    """Sets the base and the scaling of rotary embeddings where the configuration has them."""
    rope = getattr(config, "rope_parameters", None)
    if rope is None:
        return
    # Layers with a window have a base of their own (Gemma 3), and no scaling.
    whole = rope.get("full_attention", rope)
    if theta is not None:
        whole["rope_theta"] = theta
    if header.architecture == "gemma4":
        # Of a head's frequencies the first are rotated; the others are divided by a very large number.
        factors = _factors(header, "rope_freqs.weight")
        whole["partial_rotary_factor"] = sum(factor == 1 for factor in factors) / len(factors)
    else:
        whole |= _scaling(header)
    local = header.parameter("rope.freq_base_swa")
    if local is not None and "sliding_attention" in rope:
        rope["sliding_attention"]["rope_theta"] = local


def _scaling(header: Header) -> dict[str, object]:
    """The scaling of rotary embeddings, as transformers names it; empty for none."""
    kind, factor = header.parameter("rope.scaling.type"), header.parameter("rope.scaling.factor")
    original = header.parameter("rope.scaling.original_context_length")
    if "rope_factors_long.weight" in header.tensors:
        long, short = (_factors(header, f"rope_factors_{name}.weight") for name in ("long", "short"))
        return {
            "rope_type": "longrope",
            "long_factor": long,
            "short_factor": short,
            "original_max_position_embeddings": original,
            "factor": header.parameter("context_length") / original,
        }
    if "rope_freqs.weight" in header.tensors:
        # Llama 3.1: the scale of the longest waves; the other numbers are the same in all its models.
        return {
            "rope_type": "llama3",
            "factor": max(_factors(header, "rope_freqs.weight")),
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        }
    if kind == "yarn":
        found = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original}
        for name in ("beta_fast", "beta_slow"):
            value = header.parameter(f"rope.scaling.yarn_{name}")
            found |= {} if value is None else {name: value}
        return found
    if kind == "linear" or (kind is None and factor):
        return {"rope_type": "linear", "factor": factor}
    return {}


def _factors(header: Header, name: str) -> list[float]:
    return [float(value) for value in np.asarray(read_tensor(header, name))]
