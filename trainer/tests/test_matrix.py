"""Task × strategy × architecture: each combination trains for real, or is refused with its reason."""

import itertools
import json

import pytest

from trainer.tests import jobs
from trainer.tests.tiny import sentences

TASKS = {
    "text-generation": lambda text, reply: {"input": text, "output": reply},
    "summarization": lambda text, reply: {"input": f"{text} {text}", "output": reply},
    "extractive-question-answering": lambda text, reply: {
        "context": f"{text} The {reply}.",
        "question": "Which team?",
        "answer": reply,
    },
}
CAUSAL = ("llama", "qwen3", "gemma3", "gpt2", "mistral")
METRICS = {
    "text-generation": {"eval_loss", "perplexity"},
    "summarization": {"eval_loss", "rouge1", "rouge2", "rougeL"},
    "extractive-question-answering": {"eval_loss", "exact_match", "f1"},
}


def rows_of(task, count=24):
    return [TASKS[task](*pair) for pair in sentences(count)]


def run(models, folder, task, strategy, kind, **settings):
    top = {"task": task, "strategy": strategy}
    every = {"max_steps": 2, "eval_split": 0.25, "eval_steps": 2, **settings}
    spec = jobs.make(folder, models(kind), rows_of(task), top=top, **every)
    return spec, jobs.train(spec)


@pytest.mark.parametrize(("task", "kind"), list(itertools.product(TASKS, CAUSAL)))
def test_models_that_continue_a_text_train_for_every_task(models, tmp_path, task, kind):
    spec, code = run(models, tmp_path, task, "sft", kind)
    assert code == 0, jobs.journal(spec)[-1]
    (evaluation,) = jobs.journal(spec, "eval")
    assert METRICS[task] <= set(evaluation["metrics"])
    assert METRICS[task] <= set(jobs.journal(spec)[-1]["metrics"])
    assert len(jobs.journal(spec, "sample")) == 3
    assert jobs.losses(spec)[1] > 0


@pytest.mark.parametrize(
    ("task", "kind"), list(itertools.product(("text-generation", "summarization"), ("t5", "bart")))
)
def test_encoder_decoder_models_train_where_a_text_is_written(models, tmp_path, task, kind):
    spec, code = run(models, tmp_path, task, "sft", kind)
    assert code == 0, jobs.journal(spec)[-1]
    assert METRICS[task] <= set(jobs.journal(spec, "eval")[0]["metrics"])
    assert len(jobs.journal(spec, "sample")) == 3
    assert jobs.journal(spec, "metric")[-1]["tokens"] > 0
    assert json.loads((tmp_path / "artifacts" / "template.json").read_text())["source"] == "plain"


def test_an_encoder_with_a_head_for_questions_trains_and_points(models, tmp_path):
    task = "extractive-question-answering"
    settings = {"max_steps": 60, "eval_steps": 60, "learning_rate": 1e-2, "per_device_train_batch_size": 16}
    spec = jobs.make(
        tmp_path, models("bert"), rows_of(task, 64), top={"task": task}, eval_split=0.2, lora_r=16, **settings
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    figures = jobs.journal(spec, "eval")[-1]["metrics"]
    assert figures["f1"] > 50, jobs.journal(spec, "sample")
    assert "perplexity" not in figures


def test_an_answer_that_is_not_in_its_context_is_left_out_and_that_is_said(models, tmp_path):
    task = "extractive-question-answering"
    rows = rows_of(task, 12)
    rows[3]["answer"] = "nowhere"
    spec = jobs.make(tmp_path, models("bert"), rows, top={"task": task}, max_steps=1)
    assert jobs.train(spec) == 0
    assert [line["code"] for line in jobs.journal(spec, "warning")] == ["rows_left_out"]


@pytest.mark.parametrize(
    ("task", "strategy", "kind"),
    [
        ("extractive-question-answering", "sft", "t5"),
        ("text-generation", "sft", "bert"),
        ("summarization", "sft", "bert"),
        ("summarization", "qlora", "bart"),
        ("text-generation", "dpo", "t5"),
        ("text-generation", "rlhf", "bert"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_architecture_s_name(
    models, tmp_path, task, strategy, kind
):
    spec, code = run(models, tmp_path, task, strategy, kind)
    line = jobs.journal(spec)[-1]
    assert code == 1 and line["code"] == "unsupported"
    assert task in line["message"] and strategy in line["message"] and "For" in line["message"]


@pytest.mark.parametrize("kind", ["t5", "bert"])
def test_other_families_stop_and_resume_exactly(models, tmp_path, kind):
    from trainer.tests.test_run import copy, forget_after

    task = "summarization" if kind == "t5" else "extractive-question-answering"
    spec, code = run(
        models, tmp_path / "whole", task, "sft", kind, max_steps=6, save_steps=3, lora_dropout=0.1
    )
    assert code == 0
    again = copy(spec, tmp_path / "again")
    forget_after(again, 3)
    before = len(jobs.journal(again))
    assert jobs.train(again) == 0
    told = [line for line in jobs.journal(again)[before:] if line["type"] == "metric"]
    later = {at: loss for at, loss in jobs.losses(spec).items() if at > 3}
    assert {line["step"]: line["loss"] for line in told} == later
    assert told[-1]["tokens"] == jobs.journal(spec, "metric")[-1]["tokens"]


@pytest.mark.parametrize("task", TASKS)
def test_qlora_trains_on_four_bits(models, tmp_path, task):
    spec, code = run(models, tmp_path, task, "qlora", "llama")
    assert code == 0, jobs.journal(spec)[-1]
    plain, _ = run(models, tmp_path / "plain", task, "sft", "llama")
    assert jobs.losses(spec)[1] != jobs.losses(plain)[1]
    assert jobs.losses(spec)[1] == pytest.approx(jobs.losses(plain)[1], rel=0.2)


@pytest.mark.filterwarnings("error:.*autograd kernel was not registered")
def test_evaluating_does_not_change_what_four_bits_learn(models, tmp_path):
    often, never = (
        run(
            models, tmp_path / str(steps), "text-generation", "qlora", "llama", max_steps=4, eval_steps=steps
        )[0]
        for steps in (1, 100)
    )
    # The last step is evaluated in both; the steps before it differ in nothing else.
    assert jobs.losses(often) == jobs.losses(never)


def test_qlora_and_eight_bits_exclude_each_other(models, tmp_path):
    spec, code = run(models, tmp_path, "text-generation", "qlora", "llama", use_8bit=True)
    assert code == 1 and "use_8bit" in jobs.journal(spec)[-1]["message"]


def test_golden_prompts_are_what_is_shown(models, tmp_path):
    spec, code = run(models, tmp_path, "text-generation", "sft", "llama", golden_prompts=["One?", "Two?"])
    assert code == 0
    assert [line["prompt"] for line in jobs.journal(spec, "sample")] == ["One?", "Two?"]


def test_scores_are_those_of_the_definitions():
    from trainer.tasks.extractive_question_answering import ExtractiveQuestionAnswering
    from trainer.tasks.summarization import Summarization

    squad = ExtractiveQuestionAnswering().score(["The  team!", "shipping", "a b"], ["team", "billing", "b c"])
    # By hand: one of three exact once articles, case and punctuation go; F1 is 1, 0 and 2/3 ("a" goes).
    assert squad == pytest.approx({"exact_match": 100 / 3, "f1": 100 * (1 + 0 + 2 / 3) / 3})
    rouge = Summarization().score(["the cat sat"], ["the cat ran"])
    assert rouge == pytest.approx({"rouge1": 2 / 3, "rouge2": 1 / 2, "rougeL": 2 / 3})


def test_answers_improve_with_training(models, tmp_path):
    task = "extractive-question-answering"
    top = {"task": task}
    rows = rows_of(task, 64)
    spec = jobs.make(
        tmp_path,
        models("llama"),
        rows,
        top=top,
        max_steps=60,
        eval_split=0.2,
        eval_steps=60,
        learning_rate=1e-2,
        per_device_train_batch_size=16,
        lora_r=16,
        lora_alpha=32,
    )
    assert jobs.train(spec) == 0
    figures = jobs.journal(spec, "eval")[-1]["metrics"]
    assert figures["f1"] > 50, json.dumps(jobs.journal(spec, "sample"))
