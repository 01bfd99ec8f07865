"""RLHF with graders: their scores, each times its weight, are added to the reward model's."""

import pytest
import torch

from trainer.tests import jobs
from trainer.tests.training import sums
from trainer.tests.training.test_grpo import BRIEF, base  # noqa: F401
from trainer.tests.training.test_run import copy, forget_after

SETTINGS = {
    "graders": [{"grader": sums.RIGHT, "weight": 2}],
    "per_device_train_batch_size": 128,
    "per_device_eval_batch_size": 32,
    "learning_rate": 3e-3,
    "lora_r": 16,
    "lora_alpha": 32,
}


def pairs():
    """The sums of small numbers with a right and a wrong answer, and the right one as a further column."""
    return [{**row, "chosen": row["answer"], "rejected": "9"} for row in sums.sums()]


def judge(folder, model, scale):
    """A reward model of the shape of `model` with random weights, whose rewards are so large."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(model, num_labels=1, pad_token_id=0)
    torch.manual_seed(3)
    made = transformers.LlamaForSequenceClassification(config)
    with torch.no_grad():
        made.score.weight.normal_().mul_(scale)
    made.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(model).save_pretrained(folder)
    return folder


def rlhf(folder, model, rows=None, scale=0.1, **settings):
    """A job for `pairs` with a reward model."""
    reward = str(judge(folder / "judge", model, scale))
    top = {"strategy": "rlhf"}
    return jobs.make(folder, model, rows or pairs(), top, reward_model=reward, **{**SETTINGS, **settings})


def test_a_model_of_digits_learns_to_add_from_a_grader(base, tmp_path):  # noqa: F811
    spec = rlhf(tmp_path, base, 2 * pairs(), scale=0.0, max_steps=100)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    scores = [line["extra"]["rewards/right/mean"] for line in jobs.journal(spec, "metric")]
    assert sum(scores[:5]) / 5 < 0.2
    assert sum(scores[-5:]) / 5 > 0.8


@pytest.fixture(scope="session")
def short(base, tmp_path_factory):  # noqa: F811
    """Four steps with two graders, held-out rows and a checkpoint after the second."""
    graders = [*SETTINGS["graders"], {"grader": BRIEF, "weight": 0.5}]
    settings = {"per_device_train_batch_size": 16, "max_steps": 4, "eval_split": 0.2, "eval_steps": 2}
    spec = rlhf(tmp_path_factory.mktemp("short"), base, graders=graders, save_steps=2, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    return spec


def test_the_reward_is_the_reward_models_score_and_those_of_graders_by_weight(short):
    lines = jobs.journal(short, "metric")
    for line in lines:
        told = line["extra"]
        parts = (told[f"rewards/{name}/mean"] for name in ("reward_model", "right", "brief"))
        assert told["reward"] == pytest.approx(sum(map(float.__mul__, (1.0, 2.0, 0.5), parts)), abs=1e-5)
    assert any(line["extra"]["rewards/reward_model/mean"] for line in lines)
    # Also on held-out rows, whose own answers are scored besides.
    assert {"rewards/right/mean", "grader:right"} <= set(jobs.journal(short, "eval")[-1]["metrics"])
    assert set(jobs.journal(short, "sample")[0]["scores"]) == {"right", "brief"}


def test_a_resumed_run_has_the_same_figures(short, tmp_path):
    spec = copy(short, tmp_path)
    forget_after(spec, 2)
    before = len(jobs.journal(spec))
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]

    def figures(lines):
        told = [line for line in lines if line["type"] == "metric" and line["step"] > 2]
        return [(line["step"], line["loss"], line["tokens"], line["extra"]) for line in told]

    assert len(figures(jobs.journal(short))) == 2
    assert figures(jobs.journal(spec)[before:]) == figures(jobs.journal(short))


def test_a_row_without_the_column_of_a_grader_is_named(base, tmp_path):  # noqa: F811
    rows = pairs()
    del rows[4]["answer"]
    spec = rlhf(tmp_path, base, rows, max_steps=1)
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert failed["code"] == "bad_dataset_row" and "Line 5" in failed["message"]
    assert "the grader right names the column answer" in failed["message"]
