"""Graders score the answers to validation rows, and the first of them chooses the best checkpoint."""

import pytest

from trainer.tests import jobs
from trainer.tests.tiny import sentences
from trainer.tests.training import sums
from trainer.tests.training.test_matrix import TASKS

# Right answers are few before the training, so that what is wrong is best first.
WRONG = {**sums.RIGHT, "name": "wrong", "operation": "ne", "reference": "{{item.output}}"}
RIGHT = {**sums.RIGHT, "reference": "{{item.output}}"}
ROWS = [{"input": row["prompt"], "output": row["answer"]} for row in sums.sums()]
SETTINGS = {
    "per_device_train_batch_size": 25,
    "learning_rate": 3e-3,
    "lora_r": 16,
    "lora_alpha": 32,
    "max_steps": 60,
    "eval_steps": 15,
    "save_steps": 1_000,
}


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    """A model whose sums are seldom right."""
    return sums.build(tmp_path_factory.mktemp("sums"))


def trained(folder, base, *graders, **more):
    """The last line of the journal of an SFT on sums with these graders, and its evaluations by step."""
    uses = [{"grader": grader, "weight": 1} for grader in graders]
    spec = jobs.make(folder, base, ROWS, validation=ROWS, **{**SETTINGS, "graders": uses, **more})
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    return spec, {line["step"]: line["metrics"] for line in jobs.journal(spec, "eval")}


def test_the_checkpoint_that_the_first_grader_finds_best_is_kept_whatever_its_loss(base, tmp_path):
    spec, evaluations = trained(tmp_path, base, WRONG, RIGHT, keep_best=True)
    assert set(evaluations) == {0, 15, 30, 45, 60}
    for metrics in evaluations.values():
        assert metrics["grader:wrong"] + metrics["grader:right"] == pytest.approx(1)
    assert evaluations[60]["grader:right"] > evaluations[0]["grader:right"]
    trained_steps = [step for step in evaluations if step > 0]
    best = max(trained_steps, key=lambda step: evaluations[step]["grader:wrong"])
    assert best != min(trained_steps, key=lambda step: evaluations[step]["eval_loss"])
    done = jobs.journal(spec)[-1]["metrics"]
    assert done["best_step"] == best and done["grader:wrong"] == evaluations[best]["grader:wrong"]
    sample = jobs.journal(spec, "sample")[0]
    assert sample["scores"] == {
        "wrong": sample["text"] != sample["reference"],
        "right": sample["text"] == sample["reference"],
    }


def test_a_training_ends_early_when_its_grader_finds_nothing_better(base, tmp_path):
    spec, evaluations = trained(tmp_path, base, WRONG, early_stopping_patience=1)
    assert max(evaluations) < 60 and jobs.journal(spec)[-1]["outcome"] == "completed"


def test_what_a_grader_cannot_score_counts_as_nothing_and_is_told_once(base, tmp_path):
    number = {
        "type": "hone_number",
        "name": "number",
        "input": "{{sample.output_text}}",
        "reference": "no number",
    }
    spec, evaluations = trained(tmp_path, base, number)
    assert {metrics["grader:number"] for metrics in evaluations.values()} == {0}
    (warning,) = [line for line in jobs.journal(spec, "warning") if line["code"] == "grader_error"]
    assert "The grader number could not score an answer" in warning["message"]
    assert jobs.journal(spec, "sample")[0]["scores"] == {"number": None}


@pytest.mark.parametrize("strategy", ["dpo", "rlhf"])
def test_graders_score_what_is_learned_from_preferences(base, tmp_path, strategy):
    pairs = [{"prompt": row["input"], "chosen": row["output"], "rejected": "9"} for row in ROWS]
    chosen = {**RIGHT, "reference": "{{item.chosen}}"}
    settings = {**SETTINGS, "per_device_train_batch_size": 8, "max_steps": 2, "eval_steps": 1}
    settings |= {"graders": [{"grader": chosen, "weight": 1}]}
    spec = jobs.make(tmp_path, base, pairs, {"strategy": strategy}, validation=pairs, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert 0 < jobs.journal(spec, "eval")[-1]["metrics"]["grader:right"] < 1


FAMILIES = [("t5", "text-generation"), ("bert", "extractive-question-answering")]


@pytest.mark.parametrize(("kind", "task"), FAMILIES)
def test_graders_score_the_answers_of_other_families(models, tmp_path, kind, task):
    rows = [TASKS[task](text, reply) for text, reply in sentences(8)]
    any_length = {"type": "hone_length", "name": "any", "input": "{{sample.output_text}}", "unit": "words"}
    settings = {"eval_split": 0.5, "max_steps": 1, "graders": [{"grader": any_length, "weight": 1}]}
    spec = jobs.make(tmp_path, models(kind), rows, {"task": task}, **settings)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    assert jobs.journal(spec, "eval")[-1]["metrics"]["grader:any"] == 1


def test_a_golden_prompt_is_scored_by_its_own_grader(base, tmp_path):
    item = {"prompt": "1+1=", "input": "1+1=", "output": "2"}
    tested = {"prompt": "1+1=", "reference": "2", "grader": RIGHT, "threshold": 1, "item": item}
    golden = ["2+2=", {"prompt": "0+1=", "reference": "1"}, tested]
    spec, _ = trained(tmp_path, base, golden_prompts=golden, max_steps=1)
    shown = jobs.journal(spec, "sample")[-3:]
    assert [(line["prompt"], line["reference"]) for line in shown] == [
        ("2+2=", None),
        ("0+1=", "1"),
        ("1+1=", "2"),
    ]
    assert [line["scores"] for line in shown] == [None, None, {"right": shown[2]["text"] == "2"}]
