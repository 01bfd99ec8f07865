"""Makes toys of multimodal models, stored as their hub repositories have them.

    python -m trainer.tests.architectures.whole_models [NAME DIRECTORY [--seed N]]

Without arguments it lists the names. Each toy is one whole model of random weights with a tokenizer, saved
with the published names of tensors, which transformers restores. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from trainer.tests import tiny
from trainer.tests.architectures import toys
from trainer.tests.architectures.toys import NOISE

TEXT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "initializer_range": 0.05,
}
VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    # The converter numbers the layers of the projector like these.
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
# The vision encoders of Qwen-VL and GLM-V, which name their sizes differently.
QWEN_VISION = {
    "depth": 3,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_heads": 2,
    "out_hidden_size": 64,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
TWO_KINDS = ["sliding_attention", "full_attention"] * 2
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
GEMMA4 = {
    "num_hidden_layers": 4,
    "layer_types": TWO_KINDS,
    "sliding_window": 64,
    "global_head_dim": 32,
    "num_global_key_value_heads": 1,
    "num_kv_shared_layers": 0,
    "hidden_size_per_layer_input": 0,
    "attention_k_eq_v": True,
}
GEMMA4_VISION = {**VISION, "num_key_value_heads": 2, "head_dim": 16, "default_output_length": 4}


def _rotary(sections: list[int], **more: Any) -> dict[str, Any]:
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": sections, **more}
    return {"rope_parameters": rope}


QWEN35 = {
    "num_hidden_layers": 4,
    "full_attention_interval": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    **_rotary([2, 1, 1], partial_rotary_factor=0.5, mrope_interleaved=True),
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1e6,
    "factor": 2.0,
    "original_max_position_embeddings": 128,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "llama_4_scaling_beta": 0.1,
}
GLM_ROTARY = _rotary([2, 1, 1], partial_rotary_factor=0.5)
LLAMA4_VISION = {
    **VISION,
    "intermediate_size": 128,
    "vision_output_dim": 64,
    "projector_input_dim": 64,
    "projector_output_dim": 64,
}

# A chat template that reads content as a list of parts alone, as Llava's.
PARTS = (
    "{% for message in messages %}{{ message['role'].upper() }}: "
    "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}<image>{% endfor %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] }} "
    "{% endfor %}"
    "{% endfor %}{% if add_generation_prompt %}ASSISTANT: {% endif %}"
)

# By name: model_type, class, sizes of the text part that differ from TEXT (None: the field is not there),
# those of its vision encoder, and fields of the whole.
TOYS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "gemma3-vision": (
        "gemma3",
        "Gemma3ForConditionalGeneration",
        {"num_hidden_layers": 6, "sliding_window": 64, "query_pre_attn_scalar": 16},
        {**VISION, "model_type": "siglip_vision_model"},
        {"mm_tokens_per_image": 1},
    ),
    "gemma3n-vision": (
        "gemma3n",
        "Gemma3nForConditionalGeneration",
        toys.TOYS["gemma3n"]["sizes"],
        {},
        {},
    ),
    "gemma4-vision": ("gemma4", "Gemma4ForConditionalGeneration", GEMMA4, GEMMA4_VISION, {}),
    "gemma4-vision-experts": (
        "gemma4",
        "Gemma4ForConditionalGeneration",
        {**GEMMA4, **EXPERTS, "num_experts_per_tok": None, "top_k_experts": 2, "enable_moe_block": True},
        GEMMA4_VISION,
        {},
    ),
    "gemma4-vision-per-layer": (
        "gemma4",
        "Gemma4ForConditionalGeneration",
        {**GEMMA4, "hidden_size_per_layer_input": 16, "attention_k_eq_v": False},
        GEMMA4_VISION,
        {},
    ),
    "qwen3.5-vision": (
        "qwen3_5",
        "Qwen3_5ForConditionalGeneration",
        QWEN35,
        {**QWEN_VISION, "num_position_embeddings": 16},
        {},
    ),
    "qwen3.5-vision-experts": (
        "qwen3_5_moe",
        "Qwen3_5MoeForConditionalGeneration",
        {**QWEN35, **EXPERTS, "intermediate_size": None, "shared_expert_intermediate_size": 32},
        {**QWEN_VISION, "num_position_embeddings": 16},
        {},
    ),
    "qwen3-vl": (
        "qwen3_vl",
        "Qwen3VLForConditionalGeneration",
        _rotary([4, 2, 2], mrope_interleaved=True),
        {**QWEN_VISION, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]},
        {},
    ),
    "qwen3-vl-experts": (
        "qwen3_vl_moe",
        "Qwen3VLMoeForConditionalGeneration",
        {
            **EXPERTS,
            **_rotary([4, 2, 2], mrope_interleaved=True),
            "moe_intermediate_size": 48,
            "tie_word_embeddings": False,
        },
        {**QWEN_VISION, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]},
        {},
    ),
    "qwen2-vl": (
        "qwen2_vl",
        "Qwen2VLForConditionalGeneration",
        {"head_dim": None, **_rotary([4, 2, 2])},
        {"depth": 3, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 2, "patch_size": 14},
        {},
    ),
    "qwen2.5-vl": (
        "qwen2_5_vl",
        "Qwen2_5_VLForConditionalGeneration",
        {"head_dim": None, **_rotary([4, 2, 2])},
        {**QWEN_VISION, "fullatt_block_indexes": [1], "window_size": 28},
        {},
    ),
    "mistral-small": (
        "mistral3",
        "Mistral3ForConditionalGeneration",
        {"model_type": "mistral"},
        {**VISION, "head_dim": 16, "model_type": "pixtral"},
        {},
    ),
    "ministral3-vision": (
        "mistral3",
        "Mistral3ForConditionalGeneration",
        {"model_type": "ministral3", "rope_parameters": YARN},
        {**VISION, "head_dim": 16, "model_type": "pixtral"},
        {},
    ),
    "llava": (
        "llava",
        "LlavaForConditionalGeneration",
        {"model_type": "llama"},
        {**VISION, "projection_dim": 32, "model_type": "clip_vision_model"},
        {"image_seq_length": 4, "chat_template": PARTS},
    ),
    "llama4-vision": (
        "llama4",
        "Llama4ForConditionalGeneration",
        {
            "num_hidden_layers": 4,
            "intermediate_size": 32,
            "intermediate_size_mlp": 128,
            "num_local_experts": 4,
            "interleave_moe_layer_step": 2,
            "no_rope_layers": [1, 1, 1, 0],
            "attention_chunk_size": 256,
        },
        LLAMA4_VISION,
        {},
    ),
    "mllama": (
        "mllama",
        "MllamaForConditionalGeneration",
        {"head_dim": None, "num_hidden_layers": 4, "cross_attention_layers": [1]},
        {
            **VISION,
            "num_attention_heads": None,
            "attention_heads": 2,
            "num_global_layers": 1,
            "vision_output_dim": 64,
            "intermediate_layers_indices": [0],
            "max_num_tiles": 1,
            "supported_aspect_ratios": [[1, 1]],
        },
        {},
    ),
    "glm-v": (
        "glm4v",
        "Glm4vForConditionalGeneration",
        {"head_dim": None, **GLM_ROTARY},
        {**QWEN_VISION, "image_size": 28},
        {},
    ),
    "glm-v-experts": (
        "glm4v_moe",
        "Glm4vMoeForConditionalGeneration",
        {
            **GLM_ROTARY,
            "num_hidden_layers": 3,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "n_shared_experts": 1,
            "first_k_dense_replace": 1,
            "n_group": 1,
            "topk_group": 1,
        },
        {**QWEN_VISION, "image_size": 28},
        {},
    ),
}
# How images are cut, for all of them.
PROCESSOR = {
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "size": {"height": 28, "width": 28, "shortest_edge": 784, "longest_edge": 7840},
    "patch_size": 14,
    "merge_size": 2,
    "temporal_patch_size": 2,
    "min_pixels": 784,
    "max_pixels": 7840,
}
FLAT = ("qwen2_vl", "qwen2_5_vl")
NESTED_VISION = ("siglip_vision_model", "clip_vision_model")
# Fields that name a token of images, by which models replace tokens: one that no row has.
IMAGE_TOKENS = ("image_token_id", "image_token_index", "video_token_id", "vision_start_token_id")


def build(name: str, directory: Path, seed: int = 7) -> Path:
    """Writes the toy `name` with its tokenizer into `directory` and returns it."""
    import torch
    import transformers

    tokenizer = tiny.build_tokenizer(template="chatml")
    tokenizer.model_max_length = 256
    model_type, architecture, text, vision, whole = TOYS[name]
    more = dict(whole)
    if vision.get("model_type") == "pixtral":
        tokenizer.add_tokens(["[IMG]", "[IMG_BREAK]", "[IMG_END]"], special_tokens=True)
    sizes = {**TEXT, "vocab_size": len(tokenizer), **tiny.token_ids(tokenizer), **text}
    tokenizer.chat_template = more.pop("chat_template", tokenizer.chat_template)
    if "hidden_size_per_layer_input" in sizes:
        sizes["vocab_size_per_layer_input"] = len(tokenizer)
    image = tokenizer.convert_tokens_to_ids("<mask>")
    config = transformers.AutoConfig.for_model(
        model_type,
        text_config={field: size for field, size in sizes.items() if size is not None},
        vision_config={field: size for field, size in vision.items() if size is not None},
        **{"tie_word_embeddings": model_type.startswith("gemma"), **more},
    )
    for field in IMAGE_TOKENS:
        if hasattr(config, field):
            setattr(config, field, image)
    torch.manual_seed(seed)
    if vision:
        model = getattr(transformers, architecture)(config)
    else:
        # Gemma 3n's vision encoder needs a package that is not installed: one tensor of it has to do.
        model = transformers.AutoModelForCausalLM.from_config(config.text_config)
    with torch.no_grad():
        for parameter in model.parameters():
            # Vision encoders leave some of theirs as the memory was.
            parameter.nan_to_num_(0, 0, 0)
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=NOISE)
    if not vision:
        toys.scale("gemma3n", model)
    model.save_pretrained(directory)
    if not vision:
        config.text_config.num_kv_shared_layers = toys.TOYS["gemma3n"]["hub"]["num_kv_shared_layers"]
        config.architectures = [architecture]
        config.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    (Path(directory) / "preprocessor_config.json").write_text(json.dumps(PROCESSOR), "utf-8")
    _publish(Path(directory) / "model.safetensors", model_type, vision)
    if model_type in FLAT:
        _flatten(Path(directory) / "config.json")
    return Path(directory)


def _flatten(path: Path) -> None:
    """Writes the sizes of the text part beside `vision_config`, and its rotation by the older names."""
    config = json.loads(path.read_text("utf-8"))
    text = config.pop("text_config")
    rope = text.pop("rope_parameters")
    scaling = {"type": "mrope", "mrope_section": rope["mrope_section"]}
    flat = {**text, **config, "rope_theta": rope["rope_theta"], "rope_scaling": scaling}
    path.write_text(json.dumps(flat, indent=2), "utf-8")


def _publish(path: Path, model_type: str, vision: dict[str, Any]) -> None:
    """Gives tensors their published names and shapes where transformers reads those and writes others."""
    import torch
    from safetensors.torch import load_file, save_file

    published = {}
    stored = load_file(path)
    if not vision:
        stored = {re.sub(r"^model\.", "model.language_model.", name): stored[name] for name in stored}
        stored["model.vision_tower.timm_model.conv_stem.conv.weight"] = torch.zeros(8, 3, 3, 3)
    for name, tensor in stored.items():
        if vision.get("model_type") in NESTED_VISION:
            name = re.sub(r"^vision_tower\.", "vision_tower.vision_model.", name)
        turned = model_type == "qwen3_vl_moe" and re.search(r"experts\.(gate_up|down)_proj$", name)
        published[name] = tensor.transpose(1, 2).contiguous() if turned else tensor
    save_file(published, path, {"format": "pt"})


def main(argv: list[str] | None = None) -> int:
    """Command line of the module docstring."""
    parser = argparse.ArgumentParser(prog="python -m trainer.tests.architectures.whole_models")
    parser.add_argument("name", nargs="?", choices=sorted(TOYS))
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args(argv)
    if args.name is None or args.directory is None:
        print("\n".join(TOYS))
        return 0
    build(args.name, args.directory, args.seed)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
