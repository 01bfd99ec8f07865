"""Task × strategy × provider × architecture: each combination trains for real, or is refused with its reason.

By default the trainings are those of TRAINED, in which every task, strategy, family and architecture occurs;
`-m long` trains the others. The table is printed at the end.
"""

import itertools
import json
import math

import pytest

from trainer.registry import create, find_all
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
ARCHITECTURES = ("llama", "qwen3", "gemma3", "gpt2", "t5", "bart", "bert")
STRATEGIES = ("sft", "qlora", "dpo", "rlhf", "grpo", "kto", "distill")
PROVIDERS = ("standard", "accelerated")
# What rewards the answers of `grpo`.
ALIKE = {
    "type": "text_similarity",
    "name": "alike",
    "input": "{{sample.output_text}}",
    "reference": "{{item.reply}}",
    "evaluation_metric": "fuzzy_match",
}
# The tasks that architectures which do not simply continue a text are trained for, by `sft` alone.
HEADED = {
    "t5": tuple(TASKS),
    "bart": tuple(TASKS),
    "bert": ("extractive-question-answering",),
}
TRAINED = {
    ("text-generation", "sft", "llama"),
    ("text-generation", "sft", "t5"),
    ("text-generation", "qlora", "qwen3"),
    ("text-generation", "dpo", "gemma3"),
    ("text-generation", "rlhf", "llama"),
    ("text-generation", "grpo", "qwen3"),
    ("text-generation", "kto", "gpt2"),
    ("text-generation", "distill", "gemma3"),
    ("summarization", "sft", "bart"),
    ("summarization", "qlora", "llama"),
    ("extractive-question-answering", "sft", "gpt2"),
    ("extractive-question-answering", "sft", "bert"),
    ("extractive-question-answering", "sft", "bart"),
}
# Those of them, one of each family and strategy, that validate on a dataset of its own, not on a part.
VALIDATED_APART = {
    ("text-generation", "sft", "llama"),
    ("text-generation", "dpo", "gemma3"),
    ("text-generation", "rlhf", "llama"),
    ("summarization", "sft", "bart"),
    ("extractive-question-answering", "sft", "bert"),
}
# Rows of a step, where it has not as many as a batch: rlhf compares four answers to each prompt.
STEP_ROWS = {"rlhf": 1}
METRICS = {
    "text-generation": {"eval_loss", "perplexity"},
    "summarization": {"eval_loss", "rouge1", "rouge2", "rougeL"},
    "extractive-question-answering": {"eval_loss", "exact_match", "f1"},
}


def rated(count):
    """Right and wrong answers in turns."""
    return [
        {"prompt": text, "completion": reply if at % 2 else "no", "label": at % 2 > 0}
        for at, (text, reply) in enumerate(sentences(count))
    ]


def rows_of(task, count=24):
    return [TASKS[task](*pair) for pair in sentences(count)]


def run(models, folder, task, strategy, kind, validation=None, **settings):
    top = {"task": task, "strategy": strategy}
    split = 0.25 if validation is None else 0
    every = {"max_steps": 2, "eval_split": split, "eval_steps": 2, **settings}
    spec = jobs.make(folder, models(kind), rows_of(task), top=top, validation=validation, **every)
    return spec, jobs.train(spec)


def expected(task, strategy, provider, kind):
    """None when the combination trains, else a word of its refusal."""
    if provider == "accelerated":
        available, reason = create("provider", provider).availability()
        # Where there is a GPU, what it trains is what it says it has kernels for.
        if not available:
            return reason
        if kind in HEADED or kind == "gpt2" or strategy in ("rlhf", "grpo", "kto", "distill"):
            return "accelerated"
    if strategy in ("dpo", "rlhf", "grpo", "kto", "distill") and task != "text-generation":
        return f"{strategy} does not support {task}"
    if kind in HEADED and (strategy != "sft" or task not in HEADED[kind]):
        return f"cannot be trained for {task} with the strategy {strategy}"
    return None


def combinations():
    """All of them; what is neither trained by default nor refused by the standard provider is `long`."""
    for task, strategy, provider, kind in itertools.product(TASKS, STRATEGIES, PROVIDERS, ARCHITECTURES):
        refused = provider == "standard" and expected(task, strategy, provider, kind) is not None
        quick = refused or (provider == "standard" and (task, strategy, kind) in TRAINED)
        marks = [] if quick else [pytest.mark.long]
        yield pytest.param(task, strategy, provider, kind, marks=marks)


def test_every_task_strategy_and_architecture_is_trained_by_default():
    tasks, strategies, kinds = (set(values) for values in zip(*TRAINED, strict=True))
    assert tasks == set(find_all("task")) and strategies == set(find_all("strategy"))
    assert kinds == set(ARCHITECTURES)


@pytest.mark.parametrize(("task", "strategy", "provider", "kind"), list(combinations()))
def test_every_combination_trains_or_is_refused_with_its_reason(
    models, tmp_path, matrix, task, strategy, provider, kind
):
    pairs = strategy in ("dpo", "rlhf")
    rows = rows_of(task, 30)
    if pairs:
        rows = [{"prompt": text, "chosen": reply, "rejected": "no"} for text, reply in sentences(30)]
    elif strategy == "grpo":
        rows = [{"prompt": text, "reply": reply} for text, reply in sentences(30)]
    elif strategy == "kto":
        rows = rated(30)
    apart = provider == "standard" and (task, strategy, kind) in VALIDATED_APART
    top = {"task": task, "strategy": strategy, "provider": provider}
    if strategy == "distill":
        top["teacher"] = {"name": "tests/tiny", "path": str(models(kind)), "adapter": None}
    spec = jobs.make(
        tmp_path,
        models(kind),
        rows[:24],
        top=top,
        validation=rows[24:] if apart else None,
        max_steps=2,
        eval_split=0 if apart else 0.25,
        eval_steps=2,
        max_seq_length=64 if provider == "accelerated" else -1,
        device="auto" if provider == "accelerated" else "cpu",
        bf16=None if provider == "accelerated" else False,
        graders=[{"grader": ALIKE}] if strategy == "grpo" else None,
        max_answer_tokens=16,
    )
    code, refusal = jobs.train(spec), expected(task, strategy, provider, kind)
    last = jobs.journal(spec)[-1]
    matrix[task, strategy, provider, kind] = "refused" if code else "trains"
    if refusal is not None:
        assert code == 1 and last["code"] == "unsupported", last
        assert refusal in last["message"] and last["advice"]
        assert not jobs.journal(spec, "metric")
        return
    assert code == 0, last
    steps = jobs.journal(spec, "metric")
    assert [line["step"] for line in steps] == [1, 2] and steps[-1]["tokens"] > 0
    evaluation = jobs.journal(spec, "eval")[-1]
    wanted = {
        "rlhf": {"reward", "kl"},
        "grpo": {"reward", "kl"},
        "dpo": {"eval_loss", "rewards/margins"},
        "kto": {"eval_loss", "rewards/margins", "kl"},
        "distill": {"eval_loss", "divergence", "label_loss", "perplexity"},
    }.get(strategy, METRICS[task])
    assert wanted <= set(evaluation["metrics"]), evaluation["metrics"]
    if strategy == "rlhf":
        assert 0 <= jobs.journal(spec)[-1]["metrics"]["reward_model_accuracy"] <= 1
    samples = [line["prompt"] for line in jobs.journal(spec, "sample") if line["step"] == 2]
    assert len(samples) == 3
    if apart:
        assert steps[-1]["epoch"] == pytest.approx(2 / math.ceil(24 / STEP_ROWS.get(strategy, 4)))
        fields = ("prompt",) if pairs else ("input",) if "input" in rows[0] else ("context", "question")
        assert samples == ["\n\n".join(row[field] for field in fields) for row in rows[24:27]]
    shown = [line for line in jobs.journal(spec, "sample") if line["step"] == 0]
    assert [line["prompt"] for line in shown] == samples, "the base model answers the same"
    # Neither a prompt alone nor a wrong answer is one.
    missing = {"grpo": {True}, "kto": {True, False}}.get(strategy, {False})
    assert {line["reference"] is None for line in shown} <= missing
    assert all(line["file"] is None for line in shown)
    assert (tmp_path / "artifacts" / "adapter" / "adapter_model.safetensors").stat().st_size > 0
    source = json.loads((tmp_path / "artifacts" / "template.json").read_text())["source"]
    assert source == ("plain" if kind in HEADED else "hone")


LONG = pytest.mark.long


@pytest.mark.parametrize("kind", ["bert", pytest.param("bart", marks=LONG), pytest.param("t5", marks=LONG)])
def test_a_model_with_a_head_for_questions_trains_and_points(models, tmp_path, kind):
    task = "extractive-question-answering"
    settings = {"max_steps": 60, "eval_steps": 60, "learning_rate": 1e-2, "per_device_train_batch_size": 16}
    spec = jobs.make(
        tmp_path, models(kind), rows_of(task, 64), top={"task": task}, eval_split=0.2, lora_r=16, **settings
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    for line in jobs.journal(spec, "sample"):
        assert line["text"] in line["prompt"]
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


@pytest.mark.parametrize("kind", ["t5", pytest.param("bert", marks=LONG)])
def test_other_families_stop_and_resume_exactly(models, tmp_path, kind):
    from trainer.tests.training.test_run import copy, forget_after

    task = "summarization" if kind == "t5" else "extractive-question-answering"
    validation = rows_of(task, 30)[24:]
    settings = {"max_steps": 6, "save_steps": 3, "lora_dropout": 0.1}
    spec, code = run(models, tmp_path / "whole", task, "sft", kind, validation, **settings)
    assert code == 0
    again = copy(spec, tmp_path / "again")
    forget_after(again, 3)
    before = len(jobs.journal(again))
    assert jobs.train(again) == 0
    told = [line for line in jobs.journal(again)[before:] if line["type"] == "metric"]
    later = {at: loss for at, loss in jobs.losses(spec).items() if at > 3}
    assert {line["step"]: line["loss"] for line in told} == later
    assert told[-1]["tokens"] == jobs.journal(spec, "metric")[-1]["tokens"]
    evaluations = [line["metrics"]["eval_loss"] for line in jobs.journal(again, "eval") if line["step"] == 6]
    assert len(evaluations) == 2 and evaluations[0] == evaluations[1]


def test_qlora_trains_on_four_bits(models, tmp_path):
    task = "text-generation"
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


def test_golden_prompts_are_what_is_shown(models, tmp_path):
    spec, code = run(models, tmp_path, "text-generation", "sft", "llama", golden_prompts=["One?", "Two?"])
    assert code == 0
    assert [line["prompt"] for line in jobs.journal(spec, "sample")] == ["One?", "Two?"] * 2


def test_scores_are_those_of_the_definitions():
    from trainer.tasks.extractive_question_answering import ExtractiveQuestionAnswering
    from trainer.tasks.summarization import Summarization

    squad = ExtractiveQuestionAnswering().score(["The  team!", "shipping", "a b"], ["team", "billing", "b c"])
    # By hand: one of three exact once articles, case and punctuation go; F1 is 1, 0 and 2/3 ("a" goes).
    assert squad == pytest.approx({"exact_match": 100 / 3, "f1": 100 * (1 + 0 + 2 / 3) / 3})
    rouge = Summarization().score(["the cat sat"], ["the cat ran"])
    assert rouge == pytest.approx({"rouge1": 2 / 3, "rouge2": 1 / 2, "rougeL": 2 / 3})


@pytest.mark.long
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


def test_golden_prompts_are_answered_before_the_training_and_at_checkpoints_without_held_out_rows(
    models, tmp_path
):
    rows = rows_of("text-generation", 16)
    settings = {"golden_prompts": ["One?"], "max_steps": 2, "save_steps": 1}
    spec = jobs.make(tmp_path, models("llama"), rows, **settings)
    assert jobs.train(spec) == 0
    told = [(line["step"], line["prompt"], line["reference"]) for line in jobs.journal(spec, "sample")]
    assert told == [(step, "One?", None) for step in (0, 1, 2)]
    assert not jobs.journal(spec, "eval")


def test_trained_rows_are_asked_where_none_is_held_out(models, tmp_path):
    rows = rows_of("text-generation", 16)
    # A prompt is asked once, and a budget of tokens is that of the answers.
    # One that is left out, because its prompt is too long, is not asked.
    long = {"input": "Where is it? " * 100, "output": "Here."}
    spec = jobs.make(
        tmp_path / "asked", models("llama"), [long, rows[0], *rows], max_steps=2, max_seq_length=128
    )
    assert jobs.train(spec) == 0
    told = [(line["step"], line["prompt"], line["reference"]) for line in jobs.journal(spec, "sample")]
    first = [(row["input"], row["output"]) for row in rows[:3]]
    assert told == [(step, *each) for step in (0, 2) for each in first]
    none = jobs.make(tmp_path / "none", models("llama"), rows, max_steps=2, golden_prompts=[])
    assert jobs.train(none) == 0
    assert jobs.journal(none, "sample") == []
