"""Pairs without padding, their prompts computed once, train as the library's trainer does."""

import copy

import pytest
import torch

from trainer.kernels import row_attention
from trainer.kernels.install import install_linear
from trainer.model.hardware import Hardware
from trainer.padding_free import padding_free
from trainer.padding_free.pairs import (
    answer_log_probabilities,
    collate,
    fuse_layers_for_pairs,
    key_of,
    make_pairs_padding_free,
)
from trainer.tests import jobs
from trainer.tests.kernels.test_install import ROTATED
from trainer.tests.padding_free.test_padding_free import PLAIN, gradients, some_model
from trainer.tests.training.test_preferences import pairs as texts
from trainer.tests.training.test_preferences import talks
from trainer.training.references import References

# Tokens of prompts and of their chosen and rejected answers: uneven, of one token, without a prompt.
LENGTHS = ((31, 9, 4), (5, 1, 1), (12, 20, 1), (1, 3, 17), (0, 6, 5), (90, 40, 33))


class Pairs(list):
    """Pairs with what the check of a dataset takes."""

    def select(self, indices):
        return Pairs(self[index] for index in indices)


def some_pairs(size=400):
    generator = torch.Generator().manual_seed(1)

    def tokens(count):
        return torch.randint(8, size, (count,), generator=generator).tolist()

    names = ("prompt_ids", "chosen_ids", "rejected_ids")
    return Pairs({name: tokens(count) for name, count in zip(names, row, strict=True)} for row in LENGTHS)


def apart(model, pairs):
    """The log-probabilities of both answers of `pairs`, each computed alone."""
    found = []
    for pair in pairs:
        for name in ("chosen_ids", "rejected_ids"):
            start = len(pair["prompt_ids"])
            ids = torch.tensor([[*pair["prompt_ids"], *pair[name]]])
            logits = model(input_ids=ids, use_cache=False).logits[0].float()
            each = logits[:-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
            found.append(each[max(0, start - 1) :].sum())
    return torch.stack(found).view(-1, 2)


def dpo_loss(answers):
    return -torch.nn.functional.logsigmoid(0.1 * (answers[:, 0] - answers[:, 1])).mean()


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3", "gpt2", "mistral"])
def test_answers_have_the_log_probabilities_and_gradients_that_they_have_alone(kind, computed_by):
    model, pairs = some_model(kind), some_pairs()
    usual = copy.deepcopy(model)
    install_linear(model, "cpu")
    assert make_pairs_padding_free(model, pairs, PLAIN) is None
    expected = apart(usual, pairs)
    found, told, counts = answer_log_probabilities(model.get_base_model(), collate(pairs))
    assert counts == [length - (prompt == 0) for prompt, *answers in LENGTHS for length in answers]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    theirs, ours = gradients(usual, dpo_loss(expected)), gradients(model, dpo_loss(found))
    assert set(ours) == set(theirs) and len(ours) > 8
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-6)
    with torch.no_grad():
        quick, nothing, _ = answer_log_probabilities(model.get_base_model(), collate(pairs), figures=False)
    assert nothing is None and torch.equal(quick, found)
    entropy, mean, right = told
    assert entropy.min() > 0 and bool(((right == 0) | (right == 1)).all()) and bool(mean.isfinite().all())


def test_bfloat16_is_as_near_as_its_rounding_with_scores_that_are_kept_and_that_are_not(
    monkeypatch, computed_by
):
    # Some of the rows have fewer tokens, some more.
    monkeypatch.setattr(row_attention, "LONGEST_KEPT", 34)
    model, pairs = some_model("llama"), some_pairs()
    exact = copy.deepcopy(model)
    model.to(torch.bfloat16)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = parameter.data.float()
    install_linear(model, "cpu")
    assert make_pairs_padding_free(model, pairs, Hardware("cpu", "bfloat16", None, False)) is None
    found, expected = answer_log_probabilities(model.get_base_model(), collate(pairs))[0], apart(exact, pairs)
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=5e-2)
    mine, exactly = gradients(model, dpo_loss(found)), gradients(exact, dpo_loss(expected))
    for name, gradient in exactly.items():
        similar = torch.nn.functional.cosine_similarity(mine[name].flatten(), gradient.flatten(), dim=0)
        assert similar > 0.98, name


@pytest.mark.parametrize("kind", ["gemma2", "bloom"])
def test_a_model_that_would_compute_something_else_stays_as_it_is_and_says_why(kind):
    model = some_model(kind)
    before = model.get_base_model().config._attn_implementation
    assert make_pairs_padding_free(model, some_pairs(), PLAIN).startswith("the ")
    assert model.get_base_model().config._attn_implementation == before


def test_pairs_have_the_same_key_only_if_they_are_equal():
    pair = {"prompt_ids": [1, 2], "chosen_ids": [3], "rejected_ids": [4]}
    moved = {"prompt_ids": [1], "chosen_ids": [2, 3], "rejected_ids": [4]}
    assert key_of(pair) == key_of(dict(pair)) != key_of(moved)


class Two:
    """A rank of two, the other of which has computed `other`."""

    def __init__(self, other):
        self.other = other

    def all_gather(self, value):
        return [self.other, value]


def test_references_are_computed_once_and_are_those_of_a_checkpoint(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return torch.tensor([[-1.25, -3.1], [-0.7, -9.3]])

    references = References(Two({3: (-5.5, -6.0), 2: (-0.75, -9.25)}))
    first = references.of([1, 2], compute, keep=True)
    assert torch.equal(references.of([2, 1], compute, keep=True), first.flip(0)) and len(calls) == 1
    references.of([4, 5], compute, keep=False)
    references.of([4, 5], compute, keep=False)
    assert len(calls) == 3
    references.share()
    # Rank 0's, where both have computed one.
    assert references.of([2, 3], compute, keep=True).tolist() == [[-0.75, -9.25], [-5.5, -6.0]]
    references.save(tmp_path)
    again = References(Two({}))
    again.load(tmp_path)
    assert again.known == references.known


def stock(model, rows, folder, **settings):
    """The logs of a plain script of the library, whose prompts end and whose LoRA begins as ours do."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import set_seed
    from trl import DPOConfig, DPOTrainer

    set_seed(settings["seed"])
    rows = [{**row, "prompt": row["prompt"] + "\n###\n"} for row in rows]
    trainer = DPOTrainer(
        model=str(model),
        args=DPOConfig(
            output_dir=str(folder), report_to="none", logging_steps=1, save_strategy="no", **settings
        ),
        train_dataset=Dataset.from_list(rows),
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    )
    trainer.train()
    return [log for log in trainer.state.log_history if "loss" in log]


def uneven(rows):
    """`rows` with prompts of different lengths."""
    return [{**row, "prompt": row["prompt"] * (1 + at % 4)} for at, row in enumerate(rows)]


def told_of(spec):
    """What the run said of how it computes."""
    return [line["detail"] for line in jobs.journal(spec, "phase") if "padd" in (line["detail"] or "")]


@pytest.mark.parametrize(
    ("kind", "half", "near", "loss"),
    [
        ("llama", False, 1e-4, {}),
        ("llama", False, 1e-4, {"loss_type": "robust", "label_smoothing": 0.2, "sft_weight": 0.5}),
        ("llama", False, 1e-4, {"loss_type": "ipo", "beta": 0.3}),
        # The library's defaults: bfloat16 where it computes, and gradient checkpointing.
        pytest.param("llama", True, 1e-2, {}, marks=pytest.mark.long),
        pytest.param("gemma3", False, 1e-4, {}, marks=pytest.mark.long),
    ],
)
def test_every_step_is_that_of_a_plain_script(tmp_path, kind, half, near, loss):
    from trainer.tests import tiny

    model = tmp_path / "model"
    tiny.build(kind, model)
    rows = uneven(texts(48))
    same = {"max_steps": 12, "learning_rate": 2e-3, "seed": 11, "per_device_train_batch_size": 8}
    precision = {} if half else {"bf16": False, "gradient_checkpointing": False}
    mixed = {name: value for name, value in loss.items() if name != "sft_weight"}
    if "sft_weight" in loss:
        mixed |= {"loss_type": [loss["loss_type"], "sft"], "loss_weights": [1.0, loss["sft_weight"]]}
    theirs = stock(model, rows, tmp_path / "stock", use_cpu=True, **same, **precision, **mixed)
    ways = {"lora_r": 16, "lora_alpha": 32, "warmup_ratio": 0, "lr_scheduler_type": "linear", "bf16": half}
    spec = jobs.make(tmp_path / "ours", model, rows, top={"strategy": "dpo"}, **same, **ways, **loss)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert told_of(spec)[-1] == "rows without padding"
    ours = jobs.journal(spec, "metric")
    assert [line["tokens"] for line in ours] == [int(log["num_tokens"]) for log in theirs]
    names = [name for name in theirs[0] if "/" in name or name in ("entropy", "mean_token_accuracy")]
    assert len(names) == 10
    for line, log in zip(ours, theirs, strict=True):
        assert line["loss"] == pytest.approx(log["loss"], rel=near)
        for name in names:
            # Rewards begin at 0, where nothing is near by a share; accuracies are counts.
            least = 0.15 if name == "rewards/accuracies" and half else near
            assert line["extra"][name] == pytest.approx(log[name], rel=near, abs=least), (name, line["step"])
    assert ours[-1]["loss"] < 0.95 * ours[0]["loss"]


def test_a_run_that_computes_padding_says_why_and_trains_alike(models, tmp_path, monkeypatch):
    settings = {"max_steps": 3, "per_device_train_batch_size": 4, "loss_type": "robust", "sft_weight": 0.5}
    settings |= {"label_smoothing": 0.2}
    told = []
    for name in ("without", "with"):
        spec = jobs.make(
            tmp_path / name, models("gemma3", "chatml"), talks(16), top={"strategy": "dpo"}, **settings
        )
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        told.append((told_of(spec)[-1], jobs.losses(spec), jobs.journal(spec, "metric")[-1]))
        monkeypatch.setattr(padding_free, "KINDS", ("full_attention",))
    (ways, losses, last) = zip(*told, strict=True)
    assert ways == ("rows without padding", "padded rows: the model has layers of sliding_attention")
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert last[0]["tokens"] == last[1]["tokens"] and set(last[0]["extra"]) == set(last[1]["extra"])


def test_layers_that_compute_something_else_for_the_pairs_stay_the_library_s():
    def fused(odd):
        model = some_model("llama")
        act = model.get_base_model().model.layers[0].mlp.act_fn
        if odd:
            # Unlike the few rows on which the layer itself is tried.
            act.register_forward_hook(lambda _, args, out: out * (1.5 if out.shape[-2] > 3 else 1.0))
        fuse_layers_for_pairs(model, some_pairs(), PLAIN)
        return {type(part).__name__ for part in model.modules() if "forward" in vars(part)}

    assert fused(odd=False) == {"Linear", "LlamaRMSNorm", "LlamaMLP", *ROTATED["Llama"]}
    assert fused(odd=True) == {"Linear"}
