"""What gets LoRA: layers that a model computes as linear ones, by what it does with them."""

import pytest
import torch
import transformers
from peft import LoraConfig, get_peft_model

from trainer.model.targets import choose_targets
from trainer.protocol.failures import Failure
from trainer.tests.architectures import toys
from trainer.tests.tiny import build_model, build_tokenizer

TOKENIZER = build_tokenizer()
ATTENTION = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"}
MLP = {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}
SHARED = {"shared_experts.gate_proj", "shared_experts.up_proj", "shared_experts.down_proj"}


def toy(name):
    torch.manual_seed(7)
    return transformers.AutoModelForCausalLM.from_config(toys.configuration(name, TOKENIZER))


def ends(names):
    return {".".join(name.removesuffix(".weight").split(".")[-2:]) for name in names}


@pytest.mark.parametrize(
    ("name", "modules", "parameters"),
    [
        ("llama", ATTENTION | MLP, set()),
        # Experts and what chooses them are left alone; PEFT takes the names of other layers for theirs.
        ("qwen3-moe", ATTENTION, set()),
        ("glm4-moe", ATTENTION, MLP | SHARED),
        ("gemma4-moe", ATTENTION | MLP, set()),
        ("hunyuan-moe", ATTENTION, {"shared_mlp.gate_proj", "shared_mlp.up_proj", "shared_mlp.down_proj"}),
        # A router that returns a pair, in every second layer.
        (
            "llama4",
            ATTENTION
            | {"shared_expert.gate_proj", "shared_expert.up_proj", "shared_expert.down_proj"}
            | {"feed_forward.gate_proj", "feed_forward.up_proj", "feed_forward.down_proj"},
            set(),
        ),
        # PEFT refuses the output of their state-space layers; some weights are not used as a layer's.
        ("falcon-mamba", {"mixer.in_proj", "mixer.x_proj"}, set()),
        (
            "falcon-h1",
            ATTENTION | {"mamba.in_proj"} | {end.replace("mlp", "feed_forward") for end in MLP},
            set(),
        ),
        # A class of its own that computes what a linear layer does.
        (
            "falcon-7b",
            {
                "self_attention.query_key_value",
                "self_attention.dense",
                "mlp.dense_h_to_4h",
                "mlp.dense_4h_to_h",
            },
            set(),
        ),
    ],
)
def test_what_a_model_computes_as_linear_layers_gets_lora(name, modules, parameters):
    model = toy(name)
    was = torch.get_rng_state()
    chosen = choose_targets(model, None)
    assert torch.equal(torch.get_rng_state(), was)
    assert (ends(chosen.modules), ends(chosen.parameters)) == (modules, parameters)
    given = {"target_modules": chosen.modules, "target_parameters": chosen.parameters or None}
    adapted = get_peft_model(model, LoraConfig(r=2, task_type="CAUSAL_LM", **given))
    ids = torch.arange(6)[None]
    adapted(input_ids=ids, labels=ids).loss.backward()
    factors = [weight for name, weight in adapted.named_parameters() if "lora_B" in name]
    assert len(factors) == len(chosen.modules) + len(chosen.parameters)
    assert all(weight.grad is not None for weight in factors)


def test_dropout_leaves_out_what_peft_has_none_for():
    chosen = choose_targets(toy("glm4-moe"), None, dropout=0.1)
    assert ends(chosen.modules) == ATTENTION and chosen.parameters == []


@pytest.mark.parametrize(
    ("name", "wanted", "said"),
    [
        ("llama", ["q_proj", "zeta"], "zeta"),
        ("llama", ["embed_tokens"], "embed_tokens"),
        ("falcon-h1", ["out_proj"], "out_proj"),
        ("llama4", ["router"], "router"),
        ("qwen3-moe", ["gate"], "gate"),
        ("falcon-mamba", ["dt_proj"], "dt_proj"),
    ],
)
def test_other_targets_are_refused_with_what_can_be_chosen(name, wanted, said):
    model = toy(name)
    with pytest.raises(Failure) as failure:
        choose_targets(model, wanted)
    assert failure.value.code == "unsupported" and said in failure.value.message
    assert "choose from: " in failure.value.advice


def test_an_output_layer_that_is_the_embedding_too_is_refused():
    with pytest.raises(Failure, match="shares its weight"):
        choose_targets(build_model("qwen3", TOKENIZER), ["lm_head"])


def test_targets_that_are_asked_for_are_taken():
    model = toy("llama")
    assert ends(choose_targets(model, ["q_proj", "layers.1.mlp.up_proj"]).modules) == {
        "self_attn.q_proj",
        "mlp.up_proj",
    }
    assert choose_targets(model, ["lm_head"]).modules == ["lm_head"]
    stored = {"model.layers.0.self_attn.q_proj.weight"}
    assert choose_targets(model, None, mergeable=stored).modules == ["model.layers.0.self_attn.q_proj"]
    with pytest.raises(Failure, match="k_proj"):
        choose_targets(model, ["k_proj"], mergeable=stored)


def test_models_of_other_kinds_are_watched_alike():
    t5 = choose_targets(build_model("t5", TOKENIZER), None)
    assert {"SelfAttention.q", "EncDecAttention.v", "DenseReluDense.wo"} <= ends(t5.modules)
    bert = choose_targets(build_model("bert", TOKENIZER), None, others=["qa_outputs"])
    assert {"self.query", "output.dense"} <= ends(bert.modules)
    assert not any("qa_outputs" in name for name in bert.modules)
