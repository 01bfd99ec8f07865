"""The text part of a multimodal model: found, loaded alone, and equal to what the whole model computes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainer.model import check, text_part
from trainer.protocol.failures import Failure
from trainer.tests.architectures import whole_models

# A class of the text part under `language_model.model`, the same under `model.language_model`, and a whole
# class without its vision encoder.
QUICK = ("mistral-small", "gemma4-vision", "qwen3-vl")


def names():
    # Of Gemma 3n there is no whole model to compare with.
    for name in sorted(set(whole_models.TOYS) - {"gemma3n-vision"}):
        yield pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long])


@pytest.mark.parametrize("name", list(names()))
def test_the_text_part_alone_computes_what_the_whole_model_does(name: str, tmp_path: Path) -> None:
    import torch
    import transformers

    directory = whole_models.build(name, tmp_path)
    config = json.loads((directory / "config.json").read_text("utf-8"))
    part = text_part.find(config)
    assert part is not None and part.architecture == config["architectures"][0]
    load = text_part.loader(config, "AutoModelForCausalLM")
    model, report = load(directory, dtype=torch.float32, output_loading_info=True)
    assert not report["missing_keys"] and not report["mismatched_keys"]
    assert [key for key in report["unexpected_keys"] if not text_part.is_left_out(model, key)] == []
    whole = getattr(transformers, part.architecture).from_pretrained(directory, dtype=torch.float32)
    ids = torch.arange(7, 90)[None]
    with torch.inference_mode():
        assert torch.equal(model.eval()(input_ids=ids).logits, whole.eval()(input_ids=ids).logits)
    vision = [key for key, _ in model.named_parameters() if "vis" in key]
    assert vision == [] and model.num_parameters() < whole.num_parameters()


def test_a_surplus_tensor_of_the_text_part_is_not_left_out() -> None:
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=8
    )
    model = transformers.LlamaForCausalLM(config)
    left_out = {"vision_tower.layers.0.weight", "model.visual.blocks.0.weight", "mtp.layers.0.weight"}
    kept = {"model.layers.5.mlp.up_proj.weight", "lm_head.bias", "model.norm.bias"}
    assert {key for key in left_out | kept if text_part.is_left_out(model, key)} == left_out


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama"},
        {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "is_encoder_decoder": True},
        {
            "architectures": ["Florence2ForConditionalGeneration"],
            "model_type": "florence2",
            "text_config": {"model_type": "florence2_language", "is_encoder_decoder": True},
        },
        {
            "architectures": ["BlipForConditionalGeneration"],
            "model_type": "blip",
            "text_config": {"model_type": "blip_text_model"},
        },
        {"architectures": ["Qwen3VLModel"], "model_type": "qwen3_vl"},
        {"architectures": []},
    ],
)
def test_other_models_have_none(config: dict) -> None:
    assert text_part.find(config) is None


def test_sizes_beside_the_vision_config_are_found() -> None:
    """As Qwen2.5-VL's first files have them."""
    config = {"architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl"}
    assert text_part.find(config) == text_part.TextPart("Qwen2_5_VLForConditionalGeneration", None)


def test_a_reward_model_of_a_text_part_is_refused() -> None:
    config = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": {"model_type": "gemma3_text"},
    }
    with pytest.raises(Failure, match="reward model"):
        check.refuse_reward(config, "rlhf", None)
    check.refuse_reward(config, "rlhf", "owner/reward")
    check.refuse_reward(config, "dpo", None)
