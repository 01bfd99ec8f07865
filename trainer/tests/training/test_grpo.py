"""GRPO: the mean score of answers rises, and what cannot be learned from is refused."""

import os
import time

import pytest
import torch

from trainer.padding_free.continuing import sampled
from trainer.tests import jobs
from trainer.tests.padding_free.test_pairs import told_of
from trainer.tests.training import sums
from trainer.tests.training.test_run import copy, forget_after

SETTINGS = {
    "graders": [{"grader": sums.RIGHT, "weight": 1}],
    "per_device_train_batch_size": 128,
    "per_device_eval_batch_size": 32,
    "max_answer_tokens": 4,
    "kl_beta": 0.001,
    "learning_rate": 3e-3,
    "lora_r": 16,
    "lora_alpha": 32,
}
SHORT = {**SETTINGS, "per_device_train_batch_size": 16, "kl_beta": 0.04, "max_steps": 4}
BRIEF = {
    "type": "hone_length",
    "name": "brief",
    "input": "{{sample.output_text}}",
    "unit": "characters",
    "max": 1,
}


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    """A model whose sums are seldom right."""
    return sums.build(tmp_path_factory.mktemp("sums"))


def grpo(folder, base, rows=None, **settings):
    """A job for the sums of small numbers."""
    return jobs.make(folder, base, rows or sums.sums(), {"strategy": "grpo"}, **settings)


@pytest.fixture(scope="session")
def short(base, tmp_path_factory):
    """Four steps with two graders, held-out rows and a checkpoint after the second."""
    graders = [*SHORT["graders"], {"grader": BRIEF, "weight": 0.5}]
    settings = {**SHORT, "graders": graders, "eval_split": 0.2, "eval_steps": 2, "save_steps": 2}
    spec = grpo(tmp_path_factory.mktemp("short"), base, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    return spec


def test_a_model_of_digits_learns_to_add(base, tmp_path):
    spec = grpo(tmp_path, base, **SETTINGS, group_size=16, max_steps=100)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    rewards = [line["extra"]["reward"] for line in jobs.journal(spec, "metric")]
    assert sum(rewards[:5]) / 5 < 0.2
    assert sum(rewards[-5:]) / 5 > 0.9
    # The last model answers so, too.
    assert [line["text"] for line in jobs.journal(spec, "sample")[-3:]] == ["0", "1", "2"]


def test_a_step_tells_rewards_by_grader_their_spread_lengths_and_the_distance_from_the_base(short):
    for line in jobs.journal(short, "metric"):
        told = line["extra"]
        assert told["reward"] == pytest.approx(told["rewards/right/mean"] + 0.5 * told["rewards/brief/mean"])
        assert {"rewards/right/std", "rewards/brief/std", "reward_std", "frac_reward_zero_std"} <= set(told)
        assert 1 <= told["completions/mean_length"] <= 4 and told["kl"] >= 0
    assert told_of(short) == ["rows without padding"]
    begun, _, last = jobs.journal(short, "eval")
    assert begun["step"] == 0 and {"reward", "rewards/right/mean"} <= set(last["metrics"])
    assert jobs.journal(short)[-1]["metrics"]["reward"] == last["metrics"]["reward"]
    sample = jobs.journal(short, "sample")[0]
    assert sample["reference"] is None and set(sample["scores"]) == {"right", "brief"}
    assert sample["scores"]["brief"] == (len(sample["text"]) <= 1)


def test_a_resumed_run_has_the_same_figures(short, tmp_path):
    spec = copy(short, tmp_path)
    forget_after(spec, 2)
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]

    def figures(lines):
        return [
            (line["step"], line["loss"], line["tokens"], line["extra"])
            for line in lines
            if line["type"] == "metric" and line["step"] > 2
        ]

    assert figures(jobs.journal(spec)[before:]) == figures(jobs.journal(short))


def test_a_stopped_run_has_the_same_figures_when_it_goes_on(base, tmp_path):
    settings = {**SHORT, "max_steps": 40}
    whole = grpo(tmp_path / "whole", base, **settings)
    assert jobs.forked(whole) == 0
    spec = grpo(tmp_path / "stopped", base, **settings)
    pid = jobs.fork(spec)
    while not jobs.journal(spec, "metric"):
        time.sleep(0.01)
    (spec.parent / "stop").touch()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    stopped = jobs.journal(spec)[-1]
    assert stopped["outcome"] == "stopped" and 0 < stopped["step"] < 40
    assert jobs.journal(spec, "checkpoint")[-1]["step"] == stopped["step"]
    (spec.parent / "stop").unlink()
    assert jobs.forked(spec) == 0, jobs.journal(spec)[-1]
    assert jobs.losses(spec) == jobs.losses(whole)


@pytest.mark.parametrize(
    ("changed", "reward"),
    [({"reference": "none of these"}, "(0)"), ({"operation": "ne", "reference": "none of these"}, "(1)")],
)
def test_equal_scores_are_refused_with_the_answers(base, tmp_path, changed, reward):
    settings = {**SHORT, "graders": [{"grader": {**sums.RIGHT, **changed}, "weight": 1}]}
    spec = grpo(tmp_path, base, **settings)
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert failed["code"] == "no_reward_spread" and failed["message"].count(reward) == 8
    assert "+" in failed["message"] and not jobs.journal(spec, "metric")
    assert len(failed["evidence"].splitlines()) == 16


def test_a_conversation_is_a_prompt_as_its_text_is(base, tmp_path):
    rows = sums.sums()
    talks = [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in rows]
    specs = [grpo(tmp_path / name, base, each, **SHORT) for name, each in (("text", rows), ("talk", talks))]
    assert [jobs.train(spec) for spec in specs] == [0, 0]
    assert jobs.losses(specs[0]) == jobs.losses(specs[1])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"prompt": None}, "the field prompt must be a string or a list of messages"),
        ({"prompt": [{"role": "assistant", "content": "7"}]}, "must end with a message of the user"),
        ({"prompt": "1+1="}, "the grader right names the column answer, which the row does not have"),
    ],
)
def test_a_bad_row_is_named(base, tmp_path, wrong, told):
    rows = sums.sums()
    rows[4] = wrong
    spec = grpo(tmp_path, base, rows, **SHORT)
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert failed["code"] == "bad_dataset_row" and "Line 5" in failed["message"] and told in failed["message"]


def test_long_prompts_are_left_out(base, tmp_path):
    rows = sums.sums()
    rows[3] = {"prompt": "1+" * 30 + "1=", "answer": "31"}
    spec = grpo(tmp_path, base, rows, **{**SHORT, "max_steps": 1})
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    (warning,) = [line for line in jobs.journal(spec, "warning") if line["code"] == "rows_left_out"]
    assert "1 of 25 prompts" in warning["message"] and "line 4" in warning["message"]


def test_groups_are_as_large_as_they_are_asked_to_be(base, tmp_path):
    spec = grpo(tmp_path / "two", base, **{**SHORT, "group_size": 2, "max_steps": -1})
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    # 25 prompts in steps of 8.
    assert jobs.journal(spec, "metric")[-1]["total_steps"] == 3
    spec = grpo(tmp_path / "five", base, **{**SHORT, "group_size": 5})
    assert jobs.train(spec) == 1
    assert "multiple of 5" in jobs.journal(spec)[-1]["advice"]


def test_answers_end_at_the_most_tokens(base, tmp_path):
    spec = grpo(tmp_path, base, **{**SHORT, "max_answer_tokens": 1, "max_steps": 1})
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert jobs.journal(spec, "metric")[-1]["extra"]["completions/mean_length"] == 1


def stock(model, rows, folder, **settings):
    """The logs of a plain script of the library, which draws tokens as we do."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import set_seed
    from trl import GRPOConfig, GRPOTrainer

    def right(completions, answer, **_):
        return [float(given == wanted) for given, wanted in zip(completions, answer, strict=True)]

    set_seed(settings["seed"])
    trainer = GRPOTrainer(
        model=str(model),
        reward_funcs=right,
        args=GRPOConfig(
            output_dir=str(folder),
            report_to="none",
            logging_steps=1,
            save_strategy="no",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            max_completion_length=4,
            **settings,
        ),
        train_dataset=Dataset.from_list([{**row, "prompt": row["prompt"] + "\n###\n"} for row in rows]),
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    )

    def draw(shares, num_samples):
        return sampled(shares, torch.rand(len(shares), dtype=torch.float64)[:, None])[:, None]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "multinomial", draw)
        trainer.train()
    return [log for log in trainer.state.log_history if "loss" in log]


@pytest.mark.parametrize("division", [(16, 1), (4, 4)])
def test_every_step_is_that_of_a_plain_script(base, tmp_path, division):
    size, accumulation = division
    same = {
        # A difference by rounding grows with every update, until another token is sampled.
        "max_steps": 4,
        "learning_rate": 5e-4,
        "seed": 11,
        "per_device_train_batch_size": size,
        "gradient_accumulation_steps": accumulation,
    }
    ways = {**SETTINGS, "kl_beta": 0.04, "warmup_ratio": 0, "lr_scheduler_type": "linear", **same}
    spec = grpo(tmp_path / "ours", base, **ways)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    ours = jobs.journal(spec, "metric")
    theirs = stock(base, sums.sums(), tmp_path / "stock", beta=0.04, num_generations=8, **same)
    names = [name for name in theirs[0] if name in ours[0]["extra"]]
    assert {"reward", "kl", "entropy", "frac_reward_zero_std"} <= set(names)
    for line, log in zip(ours, theirs, strict=True):
        assert line["tokens"] == int(log["num_tokens"]), line["step"]
        assert line["loss"] == pytest.approx(log["loss"], rel=1e-4, abs=1e-5)
        assert line["grad_norm"] == pytest.approx(log["grad_norm"], rel=1e-3)
        for name in names:
            assert line["extra"][name] == pytest.approx(log[name], rel=1e-4, abs=1e-4), (name, line["step"])


def test_a_run_that_computes_padding_learns_too(base, tmp_path, monkeypatch):
    monkeypatch.setenv("HONE_PLAIN", "1")
    spec = grpo(tmp_path, base, **{**SHORT, "eval_split": 0.2})
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert told_of(spec) == ["padded rows: HONE_PLAIN is set"]
    assert {"reward", "kl"} <= set(jobs.journal(spec, "eval")[-1]["metrics"])
