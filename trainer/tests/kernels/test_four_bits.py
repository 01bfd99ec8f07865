"""Fused layers of a model in 4 bits on a CPU compute what the library's compute, and keep only the 4 bits."""

import copy
from dataclasses import replace

import pytest
import torch
import transformers

from trainer.kernels import gated, lora
from trainer.kernels.few_rows import few_rows
from trainer.kernels.install import install
from trainer.kernels.last_layer import is_narrow
from trainer.padding_free.padding_free import make_padding_free
from trainer.tests.padding_free.test_padding_free import (
    PLAIN,
    adapted,
    assert_same_gradients,
    gradients,
    rows_of,
)
from trainer.tests.tiny import build_model, build_tokenizer


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def model(request, tmp_path):
    """A Llama in 4 bits with LoRA, which computes in the type of the parameter."""
    build_model("llama", build_tokenizer()).save_pretrained(tmp_path)
    config = transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=request.param,
    )
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, dtype=request.param, quantization_config=config
    )
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
    return adapted(model)


@pytest.mark.parametrize("checkpointed", [False, True])
def test_losses_and_gradients_are_the_library_s(model, checkpointed):
    quick = copy.deepcopy(model)
    install(quick, "cpu")
    assert sum(1 for _ in lora.plain_lora_layers(quick)) == 14
    block = quick.get_base_model().model.layers[0]
    assert vars(block.mlp)["forward"].__func__ is gated.forward
    assert hasattr(block.self_attn.q_proj, "together") and is_narrow(quick.get_base_model())
    exact = model.dtype == torch.float32
    for row in rows_of():
        ids = torch.tensor([row["input_ids"]])
        found = []
        for which in (model, quick):
            if checkpointed:
                which.gradient_checkpointing_enable()
                which.enable_input_require_grads()
                which.train()
            loss = which(ids, labels=ids).loss
            found.append((float(loss.detach()), gradients(which, loss)))
        (expected, theirs), (mine, ours) = found
        assert mine == pytest.approx(expected, rel=1e-6 if exact else 1e-2)
        if exact:
            assert_same_gradients(ours, theirs)
        assert set(ours) == set(theirs)
        for name, gradient in theirs.items():
            assert torch.nn.functional.cosine_similarity(ours[name].flatten(), gradient.flatten(), 0) > 0.99
        with torch.no_grad(), few_rows(quick):
            near = {"rtol": 1e-4, "atol": 1e-5} if exact else {"rtol": 0.05, "atol": 0.05}
            torch.testing.assert_close(quick(ids).logits, model(ids).logits, **near)


def test_rows_are_laid_end_to_end(model):
    install(model, "cpu")
    hardware = replace(PLAIN, weights=str(model.dtype).removeprefix("torch."))
    assert make_padding_free(model, rows_of(), hardware) is None


def test_no_weight_is_kept_for_the_backward_pass(model):
    install(model, "cpu")
    layers = list(lora.plain_lora_layers(model))
    shapes = {tuple(layer.base_layer.weight.quant_state.shape) for layer in layers}
    kept = []

    def keep(tensor):
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(torch.tensor([rows_of()[0]["input_ids"]]))
    assert {layer.base_layer.weight.data_ptr() for layer in layers} <= {part.data_ptr() for part in kept}
    assert not [part.shape for part in kept if part.is_floating_point() and tuple(part.shape) in shapes]


def test_layers_that_compute_in_another_type_keep_the_library_s(model):
    for module in model.modules():
        if type(module).__module__.startswith("bitsandbytes"):
            module.compute_dtype = torch.float16
    assert not list(lora.plain_lora_layers(model))
