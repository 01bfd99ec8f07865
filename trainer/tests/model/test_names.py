"""Which tensors of a checkpoint a weight consists of is what the library does while it loads."""

import json

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from trainer.export.merge import adapter, weights
from trainer.model import names, text_part
from trainer.tests.architectures import toys
from trainer.tests.tiny import build_tokenizer


@pytest.mark.parametrize(
    ("name", "weight", "tensors"),
    [
        ("llama", "model.layers.0.mlp.up_proj.weight", ["model.layers.0.mlp.up_proj.weight"]),
        # Another name, for the layers or for a part of them.
        ("nemotron-h", "model.layers.0.mixer.in_proj.weight", ["backbone.layers.0.mixer.in_proj.weight"]),
        (
            "hyv3",
            "model.layers.1.mlp.shared_experts.up_proj.weight",
            ["model.layers.1.mlp.shared_mlp.up_proj.weight"],
        ),
        # A quarter of a tensor.
        ("hrm-text", "model.L_module.layers.0.self_attn.q_proj.weight", None),
    ],
)
def test_every_part_is_where_it_is_said_to_be(tmp_path, name, weight, tensors):
    toys.build(name, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    skeleton = text_part.skeleton(config, tmp_path)
    assert {parameter.device.type for parameter in skeleton.parameters()} == {"meta"}
    found = names.sources(skeleton, config, names.stored_shapes(tmp_path))
    if weight not in found:
        weight = next(each for each in found if each.endswith("self_attn.q_proj.weight"))
    if tensors is not None:
        assert [part.tensor for part in found[weight]] == tensors
    stored = load_file(tmp_path / "model.safetensors")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).state_dict()
    assert len(found) > 8
    for key, parts in found.items():
        pieces = [stored[part.tensor][part.at : part.at + part.rows] for part in parts]
        torch.testing.assert_close(torch.cat(pieces).float(), loaded[key], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["nemotron-h", "hrm-text"])
def test_an_adapter_is_merged_into_tensors_of_other_names_and_into_parts_of_them(tmp_path, name):
    import peft

    from trainer.model.targets import choose_targets

    base = toys.build(name, tmp_path / "base")
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    targets = choose_targets(model, None).modules
    torch.manual_seed(1)
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=targets, task_type="CAUSAL_LM"))
    for key, parameter in adapted.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(parameter, std=0.1)
    adapted.save_pretrained(tmp_path / "adapter")
    index = weights.index_checkpoint(base)
    updates = adapter.load(tmp_path / "adapter", index, tied=False).updates
    stored = load_file(base / "model.safetensors")
    for tensor, update in updates.items():
        b, a = update.factors(index[tensor].shape[0])
        merged = update.apply(index[tensor].read())
        torch.testing.assert_close(stored[tensor].float() + b @ a, merged)
        stored[tensor] = merged.to(stored[tensor].dtype)
    from safetensors.torch import save_file

    save_file(stored, base / "model.safetensors", metadata={"format": "pt"})
    ids = torch.arange(8, 40)[None] % len(build_tokenizer())
    with torch.no_grad():
        expected = adapted.eval()(input_ids=ids).logits
        found = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval()(input_ids=ids).logits
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
