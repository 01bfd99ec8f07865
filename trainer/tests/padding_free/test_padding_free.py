"""The fast ways of a step compute what the usual ways compute."""

import copy
import json
from types import SimpleNamespace

import pytest
import torch
import transformers

from trainer.kernels.attention import attend
from trainer.kernels.install import install, install_linear, installed
from trainer.kernels.loss import labelled_loss_class
from trainer.model.hardware import Hardware
from trainer.padding_free.padding_free import make_padding_free, padding_free_loss
from trainer.tests import jobs, tiny
from trainer.tests.plain import stock
from trainer.tests.tiny import build_model, build_tokenizer, sentences
from trainer.training.arguments import router_loss

PLAIN = Hardware("cpu", "float32", None, False)
WINDOW = 12
LENGTHS = (31, 9, 20, 44)


def adapted(model, seed=3):
    """`model` with LoRA that already says something, every linear layer but the output."""
    import peft

    torch.manual_seed(seed)
    model = peft.get_peft_model(
        model, peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    )
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


def some_model(kind):
    import transformers

    tokenizer = build_tokenizer()
    model = build_model("llama" if kind in ("granite", "bloom", "gemma2") else kind, tokenizer)
    size = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "initializer_range": 0.1,
    }
    if kind == "mistral":
        model.config.sliding_window = WINDOW
        model = type(model)(model.config)
    if kind == "gemma3":
        model.config.sliding_window = WINDOW
        model.config.layer_types = ["sliding_attention", "full_attention"]
        model.config.final_logit_softcapping = 2.0
        model = type(model)(model.config)
    if kind == "granite":
        model = transformers.GraniteForCausalLM(transformers.GraniteConfig(**size, logits_scaling=3.0))
    if kind == "gemma2":
        config = transformers.Gemma2Config(**size, attn_logit_softcapping=0.5, attn_implementation="sdpa")
        model = transformers.Gemma2ForCausalLM(config)
    if kind == "bloom":
        config = transformers.BloomConfig(vocab_size=len(tokenizer), hidden_size=64, n_layer=2, n_head=4)
        model = transformers.BloomForCausalLM(config)
    return adapted(model)


def rows_of(size=400):
    generator = torch.Generator().manual_seed(1)
    return [
        {"input_ids": torch.randint(8, size, (length,), generator=generator).tolist()} for length in LENGTHS
    ]


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_same_gradients(ours, expected):
    """Fails unless both, of `gradients`, are the same but for rounding."""
    assert set(ours) == set(expected)
    for name, gradient in expected.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3", "gpt2", "mistral", "granite"])
def test_rows_laid_end_to_end_have_the_loss_and_gradients_that_they_have_apart(kind, computed_by):
    model, rows = some_model(kind), rows_of()
    usual = copy.deepcopy(model)
    install(model, "cpu")
    assert make_padding_free(model, rows, PLAIN) is None
    prompt = 5
    labels = [[-100] * prompt + row["input_ids"][prompt:] for row in rows]
    width = max(LENGTHS)
    padded = {
        "input_ids": torch.tensor([row["input_ids"] + [0] * (width - len(row["input_ids"])) for row in rows]),
        "attention_mask": torch.tensor([[1] * n + [0] * (width - n) for n in LENGTHS]),
        "labels": torch.tensor([row + [-100] * (width - len(row)) for row in labels]),
    }
    flat = {
        "input_ids": torch.tensor([[token for row in rows for token in row["input_ids"]]]),
        "position_ids": torch.tensor([[place for n in LENGTHS for place in range(n)]]),
        "labels": torch.tensor([[label for row in labels for label in row]]),
    }
    # As in a step of the loop: what one row leaves over is not the other's business.
    count = torch.tensor(sum(LENGTHS))
    expected = usual(**padded, num_items_in_batch=count).loss
    loss, number, _ = padding_free_loss(model.get_base_model(), flat, count)
    assert int(number) == sum(n - prompt for n in LENGTHS)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    theirs, ours = gradients(usual, expected), gradients(model, loss)
    assert set(ours) == set(theirs) and len(ours) > 8
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-6)


def test_a_row_does_not_see_the_one_before_it():
    model, rows = some_model("llama"), rows_of()
    assert make_padding_free(model, rows, PLAIN) is None
    inner = model.get_base_model()

    def loss_of(first):
        ids = [*first, *rows[1]["input_ids"]]
        positions = [*range(len(first)), *range(LENGTHS[1])]
        labels = [-100] * len(first) + rows[1]["input_ids"]
        batch = {"input_ids": ids, "position_ids": positions, "labels": labels}
        return float(
            padding_free_loss(inner, {name: torch.tensor([value]) for name, value in batch.items()}, None)[0]
        )

    assert loss_of(rows[0]["input_ids"]) == pytest.approx(loss_of(rows[2]["input_ids"]), rel=1e-6)


def test_bfloat16_is_as_near_as_its_rounding():
    model, rows = some_model("llama"), rows_of()
    exact = copy.deepcopy(model)
    assert make_padding_free(exact, rows, PLAIN) is None
    model.to(torch.bfloat16)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = parameter.data.float()
    install(model, "cpu")
    assert make_padding_free(model, rows, Hardware("cpu", "bfloat16", None, False)) is None
    flat = {
        "input_ids": torch.tensor([[token for row in rows for token in row["input_ids"]]]),
        "position_ids": torch.tensor([[place for n in LENGTHS for place in range(n)]]),
    }
    flat["labels"] = flat["input_ids"].clone()
    ours, theirs = (padding_free_loss(which.get_base_model(), flat, None)[0] for which in (model, exact))
    assert float(ours.detach()) == pytest.approx(float(theirs.detach()), rel=2e-3)
    mine, exactly = gradients(model, ours), gradients(exact, theirs)
    for name, gradient in exactly.items():
        similar = torch.nn.functional.cosine_similarity(mine[name].flatten(), gradient.flatten(), dim=0)
        assert similar > 0.98, name


@pytest.mark.parametrize("kind", ["gemma2", "bloom"])
def test_a_model_that_would_compute_something_else_stays_as_it_is(kind):
    model, rows = some_model(kind), rows_of()
    before = model.get_base_model().config._attn_implementation
    install(model, "cpu")
    assert make_padding_free(model, rows, PLAIN)
    assert {type(part).__name__ for part in model.modules() if "forward" in vars(part)} <= {"Linear"}
    assert model.get_base_model().config._attn_implementation == before


@pytest.mark.parametrize(("scale", "softcap"), [(1.0, None), (0.5, None), (1.0, 3.0), (2.0, 1.5)])
def test_the_labelled_loss_is_cross_entropy(scale, softcap):
    torch.manual_seed(0)
    hidden = torch.randn(23, 16, dtype=torch.float64).float().requires_grad_()
    weight, bias, labels = torch.randn(70, 16), torch.randn(70), torch.randint(70, (23,))
    logits = torch.nn.functional.linear(hidden, weight, bias) * scale
    logits = logits if softcap is None else softcap * torch.tanh(logits / softcap)
    expected = torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / 31
    (theirs,) = torch.autograd.grad(expected, hidden)
    loss, correct = labelled_loss_class().apply(hidden, weight, bias, scale, softcap, labels, 31)
    (ours,) = torch.autograd.grad(loss, hidden)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-7)
    assert int(correct) == int((logits.argmax(-1) == labels).sum())


def test_many_tokens_are_taken_a_few_at_a_time(monkeypatch):
    from trainer.kernels import loss as module

    torch.manual_seed(0)
    hidden, weight, labels = torch.randn(50, 8), torch.randn(30, 8), torch.randint(30, (50,))
    whole = labelled_loss_class().apply(hidden, weight, None, 1.0, None, labels, 50)
    monkeypatch.setattr(module, "LOGITS", 7 * 30)
    parts = labelled_loss_class().apply(hidden, weight, None, 1.0, None, labels, 50)
    torch.testing.assert_close(parts, whole)


def test_quick_layers_are_the_library_s(models):
    model = some_model("llama")
    quick = copy.deepcopy(model)
    install_linear(quick, "cpu")
    assert len(installed(quick)) == 14
    ids = torch.tensor([rows_of()[0]["input_ids"]])
    expected, loss = model(ids, labels=ids).loss, quick(ids, labels=ids).loss
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)
    theirs, ours = gradients(model, expected), gradients(quick, loss)
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-4, atol=1e-7)
    with quick.disable_adapter(), model.disable_adapter():
        torch.testing.assert_close(quick(ids).logits, model(ids).logits)
    assert quick.merge_and_unload()(ids).logits.shape == (1, LENGTHS[0], model.config.vocab_size)


@pytest.mark.parametrize(
    ("kind", "half", "nearness"),
    # The library's defaults first: bfloat16 where it computes, and gradient checkpointing.
    [
        ("llama", True, 0.01),
        pytest.param("gemma3", True, 0.01, marks=pytest.mark.long),
        pytest.param("llama", False, 1e-5, marks=pytest.mark.long),
        ("gpt2", False, 1e-5),
    ],
)
def test_every_step_s_loss_is_that_of_a_plain_script(models, tmp_path, kind, half, nearness):
    import transformers

    model = tmp_path / "model"
    tiny.build(kind, model)
    if kind == "gpt2":
        # What is dropped out differs with the shape of a batch.
        config = json.loads((model / "config.json").read_text())
        without = {name: 0.0 for name in config if name.endswith("_pdrop")}
        (model / "config.json").write_text(json.dumps({**config, **without}))
    rows = [
        {"input": text * (1 + number % 3), "output": reply}
        for number, (text, reply) in enumerate(sentences(96))
    ]
    same = {"max_steps": 24, "learning_rate": 5e-3, "seed": 11, "per_device_train_batch_size": 8}
    precision = {} if half else {"bf16": False, "gradient_checkpointing": False}
    theirs = stock(model, rows, tmp_path / "stock", use_cpu=True, **same, **precision)
    ways = {"lora_r": 16, "lora_alpha": 32, "warmup_ratio": 0, "lr_scheduler_type": "linear"}
    spec = jobs.make(tmp_path / "ours", model, rows, bf16=half, **same, **ways)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    ours = [(line["loss"], line["tokens"]) for line in jobs.journal(spec, "metric")]
    assert [tokens for _, tokens in ours] == [tokens for _, tokens in theirs]
    for (mine, _), (expected, _) in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(expected, rel=nearness), json.dumps([ours, theirs])
    assert ours[-1][0] < 0.7 * ours[0][0]
    assert transformers.AttentionInterface()["hone_rows"] is attend


def test_the_loss_for_the_choice_of_experts_counts_where_the_model_asks_for_it():
    def coefficient(config):
        return router_loss(SimpleNamespace(config=config))

    assert coefficient(transformers.LlamaConfig()) == 0.0
    assert coefficient(transformers.MixtralConfig()) == 0.0
    assert coefficient(transformers.MixtralConfig(output_router_logits=True)) is None
