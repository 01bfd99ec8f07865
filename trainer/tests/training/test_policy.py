"""Policy steps without padding are those of the library's trainer."""

import copy

import pytest
import torch

from trainer.kernels.install import install_linear
from trainer.model.hardware import Hardware
from trainer.padding_free import padding_free
from trainer.padding_free.answers import (
    make_rewards_padding_free,
    padded_rewards,
    rewards,
    token_log_probabilities,
)
from trainer.padding_free.continuing import sampled
from trainer.padding_free.pairs import make_pairs_padding_free
from trainer.tests import jobs, tiny
from trainer.tests.padding_free.test_padding_free import PLAIN, gradients, some_model
from trainer.tests.padding_free.test_pairs import some_pairs, told_of, uneven
from trainer.tests.training.test_accumulation import model_without_dropout
from trainer.tests.training.test_preferences import pairs as texts

HALF = Hardware("cpu", "bfloat16", None, False)
# Answers to some prompts: equal ones, ones that begin alike, one token.
ROWS = (
    (7, [[11, 12, 13, 14, 15], [11, 12, 13, 99], [11, 12, 13, 14, 15]]),
    (1, [[5], [6, 7]]),
    (31, [[21], [22, 23, 24], [9] * 20]),
    (3, [[5, 5, 5]]),
)


def some_rows():
    generator = torch.Generator().manual_seed(2)
    rows, prompts = [], []
    for length, answers in ROWS:
        prompt = torch.randint(8, 400, (length,), generator=generator).tolist()
        rows += [[*prompt, *answer] for answer in answers]
        prompts += [length] * len(answers)
    # As the library shuffles them.
    order = torch.randperm(len(rows), generator=generator).tolist()
    return [rows[at] for at in order], [prompts[at] for at in order]


def apart(model, rows, prompts):
    """The log-probability of every token of every answer, each row computed alone."""
    found = []
    for row, prompt in zip(rows, prompts, strict=True):
        logits = model(input_ids=torch.tensor([row]), use_cache=False).logits[0].float().log_softmax(-1)
        found.append(logits[range(prompt - 1, len(row) - 1), row[prompt:]])
    return torch.cat(found)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3", "gpt2", "mistral"])
def test_answers_have_the_log_probabilities_and_gradients_that_they_have_alone(kind):
    model, (rows, prompts) = some_model(kind), some_rows()
    usual = copy.deepcopy(model)
    install_linear(model, "cpu")
    assert make_pairs_padding_free(model, some_pairs(), PLAIN) is None
    expected = apart(usual, rows, prompts)
    found, told = token_log_probabilities(model.get_base_model(), rows, prompts, figures=True)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert told.shape == (3, len(found))
    weights = torch.linspace(-1, 1, len(found))
    theirs, ours = (
        gradients(one, (each * weights).sum()) for one, each in ((usual, expected), (model, found))
    )
    assert set(ours) == set(theirs) and len(ours) > 8
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-5)


def judge_of(folder, kind="llama"):
    """A reward model with random weights."""
    import transformers

    tiny.build(kind, folder)
    config = transformers.AutoConfig.from_pretrained(folder, num_labels=1)
    torch.manual_seed(3)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    torch.nn.init.normal_(model.score.weight, std=0.5)
    model.save_pretrained(folder)
    return model.eval()


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("half", [False, True])
def test_rewards_are_those_of_the_library(tmp_path, kind, half):
    model, (rows, _) = judge_of(tmp_path, kind), some_rows()
    # The token that fills up rows may also end them, and may be all that a row has.
    rows += [[8, 9, 0, 0], [8, 9, 0], [0, 0]]
    model.config.pad_token_id = 0
    with torch.no_grad():
        expected = torch.stack([padded_rewards(model, [row], 0)[0] for row in rows])
        near = 1e-4 * expected.norm()
        if half:
            model.to(torch.bfloat16)
            # What rounding does to the library's.
            near = 1.5 * (padded_rewards(model, rows, 0).float() - expected).norm()
            assert near < 0.05 * expected.norm()
        assert make_rewards_padding_free(model, rows, 0, HALF if half else PLAIN) is None
        found = rewards(model, rows, 0).float()
    assert expected.std() > 0.1
    assert (found - expected).norm() < near


def stock(model, judge, rows, folder, **settings):
    """The logs of a plain script of the library, which draws tokens as we do."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import set_seed
    from trl import RLOOConfig, RLOOTrainer

    set_seed(settings["seed"])
    trainer = RLOOTrainer(
        model=str(model),
        reward_funcs=str(judge),
        args=RLOOConfig(
            output_dir=str(folder),
            report_to="none",
            logging_steps=1,
            save_strategy="no",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            num_generations=4,
            **settings,
        ),
        train_dataset=Dataset.from_list([{"prompt": row["prompt"] + "\n###\n"} for row in rows]),
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    )

    def draw(shares, num_samples):
        return sampled(shares, torch.rand(len(shares), dtype=torch.float64)[:, None])[:, None]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "multinomial", draw)
        trainer.train()
    return [log for log in trainer.state.log_history if "loss" in log]


@pytest.mark.parametrize(
    ("kind", "division"),
    [
        ("llama", (8, 1)),
        ("llama", (2, 4)),
        pytest.param("gemma3", (8, 1), marks=pytest.mark.long),
        # With learned positions the library counts padding before a prompt as positions.
        pytest.param("qwen3", (16, 1), marks=pytest.mark.long),
    ],
)
def test_every_step_is_that_of_a_plain_script(tmp_path, kind, division):
    judge = tmp_path / "judge"
    judge_of(judge)
    # The library would drop out tokens' states while it writes answers.
    model = model_without_dropout(tiny.build(kind, tmp_path / "base"), tmp_path / "model")
    rows = [{**row, "chosen": 8 * row["chosen"]} for row in uneven(texts(48))]
    size, accumulation = division
    same = {
        # A difference by rounding grows with every update, until another token is sampled.
        "max_steps": 4,
        "learning_rate": 5e-4,
        "seed": 11,
        "per_device_train_batch_size": size,
        "gradient_accumulation_steps": accumulation,
    }
    ways = {"lora_r": 16, "lora_alpha": 32, "warmup_ratio": 0, "lr_scheduler_type": "linear"}
    ways |= {"bf16": False, "reward_model": str(judge), "eval_split": 0}
    spec = jobs.make(tmp_path / "ours", model, rows, top={"strategy": "rlhf"}, **same, **ways)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert told_of(spec) == ["rows without padding"] * 2
    ours = jobs.journal(spec, "metric")
    longest = int(max(line["extra"]["completions/max_length"] for line in ours))
    theirs = stock(model, judge, rows, tmp_path / "stock", max_completion_length=longest, **same)
    names = [name for name in theirs[0] if name in ours[0]["extra"] and name != "step_time"]
    assert {"reward", "kl", "entropy", "completions/mean_length"} <= set(names)
    for line, log in zip(ours, theirs, strict=True):
        assert line["tokens"] == int(log["num_tokens"]), line["step"]
        assert line["loss"] == pytest.approx(log["loss"], rel=1e-4, abs=1e-5)
        assert line["grad_norm"] == pytest.approx(log["grad_norm"], rel=1e-3)
        for name in names:
            assert line["extra"][name] == pytest.approx(log[name], rel=1e-4, abs=1e-4), (name, line["step"])
    assert theirs[-1]["kl"] != pytest.approx(theirs[1]["kl"], rel=0.1)
    # Some answers end by themselves.
    assert min(log["completions/min_length"] for log in theirs) < longest


def test_a_run_that_computes_padding_says_why(models, tmp_path, monkeypatch):
    settings = {"max_steps": 2, "per_device_train_batch_size": 8, "eval_split": 0.25}
    monkeypatch.setattr(padding_free, "KINDS", ("full_attention",))
    spec = jobs.make(tmp_path, models("gemma3"), texts(24), top={"strategy": "rlhf"}, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert set(told_of(spec)) == {"padded rows: the model has layers of sliding_attention"}
    assert {"reward", "kl"} <= set(jobs.journal(spec, "eval")[-1]["metrics"])
