"""Layers that compute together compute what the library's compute."""

import copy
import gc
import weakref

import pytest
import torch
import transformers

from trainer.kernels import native
from trainer.kernels.few_rows import few_rows
from trainer.kernels.install import install, install_linear, uninstalled
from trainer.tests.padding_free.test_padding_free import gradients, rows_of, some_model

# Layers that rotate queries and keys with Hone's kernel, where there is one.
ROTATED = {name: {f"{name}Attention"} if native.library() else set() for name in ("Llama", "Qwen3", "Gemma3")}


def own_layers(model):
    """The kinds of parts of `model` that compute with ours."""
    return {type(part).__name__ for part in model.modules() if "forward" in vars(part)}


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("llama", {"Linear", "LlamaRMSNorm", "LlamaMLP", *ROTATED["Llama"]}),
        ("qwen3", {"Linear", "Qwen3RMSNorm", "Qwen3MLP", *ROTATED["Qwen3"]}),
        # Its activation is another, and its norms add 1 to their weight.
        ("gemma3", {"Linear", "Gemma3RMSNorm", *ROTATED["Gemma3"]}),
    ],
)
def test_layers_with_the_same_input_are_the_library_s(kind, own, computed_by):
    model = some_model(kind)
    for name, parameter in model.named_parameters():
        if "norm" in name:
            parameter.data += torch.randn_like(parameter) / 4
    quick = copy.deepcopy(model)
    install(quick, "cpu")
    assert own_layers(quick) == (own if computed_by == "kernels" else own - ROTATED[kind.capitalize()])
    ids = torch.tensor([rows_of()[0]["input_ids"]])
    # A copy computes with its own weights.
    other = copy.deepcopy(quick)
    for name, parameter in other.named_parameters():
        if "lora_B" in name:
            parameter.data.zero_()
    with model.disable_adapter():
        torch.testing.assert_close(other(ids).logits, model(ids).logits, rtol=1e-4, atol=1e-5)
    for part in (model, quick):
        part.gradient_checkpointing_enable()
        part.enable_input_require_grads()
        part.train()
    expected, loss = model(ids, labels=ids).loss, quick(ids, labels=ids).loss
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)
    theirs, ours = gradients(model, expected), gradients(quick, loss)
    assert set(theirs) == set(ours)
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-6)
    with torch.no_grad(), few_rows(quick):
        torch.testing.assert_close(quick(ids).logits, model(ids).logits, rtol=1e-4, atol=1e-5)
    with quick.disable_adapter(), model.disable_adapter():
        torch.testing.assert_close(quick(ids).logits, model(ids).logits, rtol=1e-4, atol=1e-5)
    with uninstalled(quick):
        assert own_layers(quick) == set()
    install_linear(quick, "cpu")
    assert own_layers(quick) == {"Linear"}


def test_a_norm_that_computes_something_else_stays_as_it_is():
    model = some_model("llama")

    class OtherRMSNorm(transformers.models.llama.modeling_llama.LlamaRMSNorm):
        def forward(self, x):
            return super().forward(x) * 1.1

    model.get_base_model().model.norm.__class__ = OtherRMSNorm
    install(model, "cpu")
    assert "forward" not in vars(model.get_base_model().model.norm)


def test_layers_that_get_different_inputs_compute_apart():
    model = some_model("llama")
    usual = copy.deepcopy(model)
    install(model, "cpu")
    mine, theirs = (which.get_base_model().model.layers[0].self_attn for which in (model, usual))
    one, two = torch.randn(2, 3, 64).unbind(0)
    for _ in range(2):
        torch.testing.assert_close(mine.q_proj(one), theirs.q_proj(one))
        torch.testing.assert_close(mine.k_proj(two), theirs.k_proj(two))
        torch.testing.assert_close(mine.v_proj(one), theirs.v_proj(one))


def test_nothing_of_an_attention_that_fails_between_its_layers_stays(computed_by):
    model = some_model("llama")
    install(model, "cpu")
    # Of a copy, and of layers that were fused before.
    model = copy.deepcopy(model)
    install(model, "cpu")
    attention = model.get_base_model().model.layers[0].self_attn
    assert len(attention._forward_hooks) == 1
    inputs = []

    def fail(layer, given):
        inputs.append(weakref.ref(given[0]))
        raise MemoryError

    failing = attention.k_proj.register_forward_pre_hook(fail)
    ids = torch.tensor([rows_of()[0]["input_ids"]])
    with pytest.raises(MemoryError):
        model(ids)
    gc.collect()
    assert [input() for input in inputs] == [None]
    failing.remove()
    model(ids, labels=ids).loss.backward()
    assert attention.v_proj.lora_B["default"].weight.grad.abs().sum() > 0


@pytest.mark.parametrize("kernel", ["lora", "norms", "rotations"])
def test_each_kernel_can_be_installed_alone(kernel):
    model = some_model("llama")
    flags = dict.fromkeys(("lora", "same_inputs", "norms", "rotations", "last_layer"), False)
    install(model, "cpu", **flags)
    assert own_layers(model) == set()
    install(model, "cpu", **{**flags, kernel: True})
    wanted = {
        "lora": {"Linear"},
        "norms": {"LlamaRMSNorm"},
        "rotations": ROTATED["Llama"],
    }
    assert own_layers(model) == wanted[kernel]
    ids = torch.tensor([rows_of()[0]["input_ids"]])
    ours = model(ids).logits
    with uninstalled(model):
        torch.testing.assert_close(ours, model(ids).logits, rtol=1e-4, atol=1e-5)
