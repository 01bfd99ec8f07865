"""Experts get LoRA when they are asked for, and it is merged into the checkpoint's own tensors."""

import json

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from trainer.export.merge import adapter, weights
from trainer.model.names import mergeable
from trainer.model.targets import choose_targets
from trainer.protocol.failures import Failure
from trainer.tests import jobs
from trainer.tests.architectures import toys
from trainer.tests.tiny import sentences


def loaded(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


# Each expert in tensors of its own, by the names of two families; all in one, as computed and transposed.
@pytest.mark.parametrize("name", ["qwen3-moe", "mixtral", "olmoe", "qwen3.5-moe", "gpt-oss"])
def test_experts_that_are_asked_for_train_and_are_merged(tmp_path, name):
    base = toys.build(name, tmp_path / "base")
    rows = [{"input": text, "output": reply} for text, reply in sentences(12)]
    spec = jobs.make(tmp_path / "job", base, rows, target_experts=True, max_steps=2, warmup_ratio=0)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    folder = tmp_path / "job/artifacts/adapter"
    tuned = peft.PeftModel.from_pretrained(loaded(base), folder).eval()
    trained = tuned.named_parameters()
    assert any("experts" in key and "lora_B" in key and bool(value.any()) for key, value in trained)
    index = weights.index_checkpoint(base)
    read = adapter.load(folder, index, tied=False)
    assert read.changes_experts
    stored = load_file(base / "model.safetensors")
    for tensor, update in read.updates.items():
        stored[tensor] = update.apply(index[tensor].read()).to(stored[tensor].dtype)
    save_file(stored, base / "model.safetensors", metadata={"format": "pt"})
    ids = torch.arange(8, 40)[None]
    with torch.no_grad():
        torch.testing.assert_close(
            loaded(base).eval()(input_ids=ids).logits, tuned(input_ids=ids).logits, rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize(
    ("name", "dropout", "said"), [("llama", 0.0, "no experts"), ("mixtral", 0.1, "no dropout")]
)
def test_experts_that_cannot_be_trained_are_refused_at_the_start(tmp_path, name, dropout, said):
    base = toys.build(name, tmp_path)
    config = json.loads((base / "config.json").read_text())
    model = loaded(base)
    with pytest.raises(Failure, match=said):
        choose_targets(model, None, dropout, None, mergeable(model, config, base), experts=True)
