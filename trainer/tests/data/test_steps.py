"""The count of rows and steps before a run, against what real runs of the library do."""

from __future__ import annotations

import pytest

from trainer.data.steps import held_out_rows, planned, prompts_per_step
from trainer.protocol.contracts import read_spec
from trainer.tests import jobs
from trainer.tests.tiny import sentences

PAIRS = [{"prompt": text, "chosen": reply, "rejected": "No idea."} for text, reply in sentences(23, seed=3)]
ROWS = [{"input": text, "output": reply} for text, reply in sentences(23, seed=3)]


@pytest.mark.parametrize(
    ("strategy", "kind", "settings"),
    [
        ("sft", "llama", {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 3}),
        ("sft", "llama", {"eval_split": 0.1, "num_train_epochs": 1.3, "per_device_train_batch_size": 4}),
        ("sft", "t5", {"eval_split": 0.25, "num_train_epochs": 2}),
        ("dpo", "llama", {"eval_split": 0.15, "per_device_train_batch_size": 3}),
        # 21 prompts in steps of 2 (8 rows, 4 answers), and of 3 (9 rows, 3 answers): a rest is left out.
        ("rlhf", "llama", {"eval_split": 0.1, "per_device_train_batch_size": 8, "num_train_epochs": 0.4}),
        pytest.param(
            "rlhf",
            "llama",
            {"eval_split": 0.1, "gradient_accumulation_steps": 3, "per_device_train_batch_size": 3},
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_run_takes_the_steps_that_are_planned(models, tmp_path, strategy, kind, settings):
    rows = PAIRS if strategy in ("dpo", "rlhf") else ROWS
    path = jobs.make(tmp_path, models(kind), rows, {"strategy": strategy}, **settings)
    assert jobs.train(path) == 0, jobs.journal(path)[-1]
    made = {line["step"] for line in jobs.journal(path, "metric")}
    total = planned(read_spec(path).settings, strategy, len(rows))
    assert {line["total_steps"] for line in jobs.journal(path, "metric")} == {total}
    assert made == set(range(1, total + 1))


def test_a_step_of_rlhf_that_takes_more_prompts_than_there_are_is_refused(models, tmp_path):
    path = jobs.make(
        tmp_path,
        models("llama"),
        PAIRS,
        {"strategy": "rlhf"},
        per_device_train_batch_size=16,
        gradient_accumulation_steps=8,
    )
    assert prompts_per_step(read_spec(path).settings, "rlhf") == 32
    assert jobs.train(path) == 1
    line = jobs.journal(path)[-1]
    assert (line["type"], line["code"]) == ("failed", "unsupported")
    assert "takes 32 prompts" in line["message"] and "23 rows" in line["message"]


def test_the_held_out_part_is_rounded_and_both_parts_have_a_row():
    assert [held_out_rows(rows, 0.1) for rows in (10, 14, 15, 16, 25, 35)] == [1, 1, 2, 2, 2, 4]
    assert held_out_rows(10, 0.001) == 1 and held_out_rows(10, 0.999) == 9 and held_out_rows(10, 0) == 0
