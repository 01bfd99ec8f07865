"""The loss that is trained is the model's own, whatever its family does to its logits."""

import json

import pytest
import torch
import transformers

from trainer.kernels.install import install
from trainer.kernels.logits import Logits, logits_of
from trainer.model.hardware import Hardware
from trainer.padding_free import labelled
from trainer.padding_free.padding_free import make_padding_free
from trainer.tests import jobs
from trainer.tests.padding_free.test_padding_free import PLAIN, adapted, rows_of
from trainer.tests.plain import stock
from trainer.tests.tiny import build_model, build_tokenizer, decoder_shape, sentences

TOKENIZER = build_tokenizer()
SHAPE = decoder_shape(TOKENIZER)


def model_of(name, **changes):
    """A model of the family `name` of transformers with random weights."""
    torch.manual_seed(5)
    config = getattr(transformers, f"{name}Config")(**{**SHAPE, **changes})
    return getattr(transformers, f"{name}ForCausalLM")(config)


def granite(scaling=8.0):
    return model_of("Granite", logits_scaling=scaling, embedding_multiplier=12.0, residual_multiplier=0.22)


def minicpm3():
    shape = {"q_lora_rank": 32, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8}
    return model_of("MiniCPM3", **shape, v_head_dim=16, num_key_value_heads=4, dim_model_base=16)


def falcon_h1():
    ssm = {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 16}
    return model_of("FalconH1", **ssm, mamba_n_groups=1, mamba_chunk_size=16, lm_head_multiplier=0.4)


class Shifted(transformers.LlamaForCausalLM):
    """A model that does more with its logits than to scale them."""

    def forward(self, *args, **kwargs):
        output = super().forward(*args, **kwargs)
        output.logits = output.logits - output.logits.mean(-1, keepdim=True) / 2 + 1
        return output


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (lambda: build_model("llama", TOKENIZER), Logits(1.0, 1.0, None)),
        (granite, Logits(1.0, 1 / 8, None)),
        (lambda: granite().to(torch.bfloat16), Logits(1.0, 1 / 8, None)),
        (minicpm3, Logits(0.25, 1.0, None)),
        (falcon_h1, Logits(1.0, 0.4, None)),
        (lambda: model_of("Cohere", logit_scale=3.0), Logits(1.0, 3.0, None)),
        (lambda: model_of("Gemma2", head_dim=16, final_logit_softcapping=30.0), Logits(1.0, 1.0, 30.0)),
        (lambda: build_model("t5", TOKENIZER), Logits(64**-0.5, 1.0, None)),
    ],
)
def test_what_a_model_does_to_its_logits_is_seen(model, expected):
    model = model()
    was, random = model.training, torch.get_rng_state()
    before, after, softcap = logits_of(model)
    assert (before, after) == pytest.approx((expected.before, expected.after), rel=1e-6)
    assert softcap == (None if expected.softcap is None else pytest.approx(expected.softcap, rel=1e-6))
    assert model.training == was and torch.equal(torch.get_rng_state(), random)
    assert not any("forward" in vars(module) for module in model.modules())


def test_logits_of_another_form_are_left_to_the_model():
    model = adapted(Shifted(build_model("llama", TOKENIZER).config))
    with pytest.raises(NotImplementedError, match="more with its logits"):
        logits_of(model.get_base_model())
    install(model, "cpu")
    assert "more with its logits" in make_padding_free(model, rows_of(), PLAIN)
    assert "more with its logits" in labelled.why_not_labelled(model, rows_of(), PLAIN)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("wrong", [1.05, 0.9])
def test_a_wrong_scale_never_passes(monkeypatch, half, wrong):
    model = adapted(granite())
    dtype = torch.bfloat16 if half else torch.float32
    model.to(dtype)
    install(model, "cpu")
    hardware = Hardware("cpu", "bfloat16" if half else "float32", None, False)
    right = logits_of(model.get_base_model())
    assert labelled.why_not_labelled(model, rows_of(), hardware) is None
    monkeypatch.setitem(_known(), model.get_base_model(), right._replace(after=right.after * wrong))
    assert labelled.why_not_labelled(model, rows_of(), hardware) is not None
    assert make_padding_free(model, rows_of(), hardware) is not None


def _known():
    from trainer.kernels import logits

    return logits._found


def test_rows_are_packed_only_where_the_model_keeps_them_apart(tmp_path):
    gemma2 = adapted(model_of("Gemma2", head_dim=16, attn_logit_softcapping=0.5, attn_implementation="sdpa"))
    assert labelled.why_not_packed(gemma2, rows_of(), PLAIN) is None
    base = tmp_path / "model"
    falcon_h1().save_pretrained(base)
    TOKENIZER.save_pretrained(base)
    losses = []
    for packing in (True, False):
        spec = jobs.make(tmp_path / str(packing), base, max_steps=2, packing=packing)
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        losses.append(jobs.losses(spec))
        said = [line["code"] for line in jobs.journal(spec, "warning")]
        assert ("rows_not_packed" in said) == packing
    assert losses[0] == losses[1]


def test_a_convolution_that_reaches_into_the_row_before_is_not_left_without_padding():
    model = adapted(model_of("RecurrentGemma", num_hidden_layers=3, head_dim=16, lru_width=64))
    install(model, "cpu")
    assert "convolutions" in make_padding_free(model, rows_of(), PLAIN)


@pytest.mark.parametrize("model", [granite, minicpm3, falcon_h1])
def test_three_steps_have_the_losses_of_a_plain_script(tmp_path, model):
    base = tmp_path / "model"
    model().save_pretrained(base)
    TOKENIZER.save_pretrained(base)
    rows = [{"input": text * (1 + at % 3), "output": reply} for at, (text, reply) in enumerate(sentences(24))]
    same = {"max_steps": 3, "learning_rate": 5e-3, "seed": 11, "per_device_train_batch_size": 8}
    ways = {"lora_r": 16, "lora_alpha": 32, "warmup_ratio": 0, "lr_scheduler_type": "linear"}
    spec = jobs.make(tmp_path / "ours", base, rows, **same, **ways)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    adapter = json.loads((tmp_path / "ours/artifacts/adapter/adapter_config.json").read_text())
    targets = adapter["target_modules"]
    precision = {"bf16": False, "gradient_checkpointing": False, "use_cpu": True}
    theirs = stock(base, rows, tmp_path / "stock", targets, **same, **precision)
    assert [*jobs.losses(spec).values()] == pytest.approx([loss for loss, _ in theirs], rel=1e-5)
