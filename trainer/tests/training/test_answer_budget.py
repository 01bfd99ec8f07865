"""How many validation rows a run answers, and how long an answer may be."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trainer.tests import jobs, tiny
from trainer.training import answer_budget, generate
from trainer.training.answer_budget import longest_answer, scored_rows


def settings(**changes):
    given = {
        "max_steps": -1,
        "num_train_epochs": 3,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 1,
        "eval_steps": None,
    }
    return SimpleNamespace(**{**given, **changes})


def test_an_answer_may_be_twice_as_long_as_the_longest_reference():
    tokenizer = tiny.build_tokenizer()
    references = ["team: billing", "team: access and billing"]
    longest = max(len(tokenizer(text).input_ids) for text in references)
    assert longest_answer(tokenizer, references, 256) == 2 * (longest + 1)
    assert longest_answer(tokenizer, references, 5) == 5
    assert longest_answer(tokenizer, [], 256) == 256


def test_the_answers_of_all_evaluations_take_a_tenth_of_the_training():
    # 3 epochs of 400 rows of 500 tokens, four evaluations: a tenth is 60,000 trained or 5,000 written tokens.
    assert scored_rows(settings(), 400, 200_000, 40) == 5_000 // (4 * 40)
    # More evaluations leave fewer rows to each.
    assert scored_rows(settings(eval_steps=50), 400, 200_000, 40) == 5_000 // (7 * 40)
    assert scored_rows(settings(max_steps=600, eval_steps=300), 400, 200_000, 90) == 10_000 // (3 * 90)


@pytest.mark.parametrize(("tokens", "rows"), [(1, 16), (10**9, 64)])
def test_there_are_always_16_and_never_more_than_64_rows(tokens, rows):
    assert scored_rows(settings(), 400, tokens, 40) == rows


@pytest.mark.parametrize("most", [64, 16])
def test_a_run_scores_as_many_rows_as_it_can_afford_and_says_so(models, tmp_path, monkeypatch, most):
    monkeypatch.setattr(answer_budget, "MOST_ROWS", most)
    rows = [{"input": text, "output": reply} for text, reply in tiny.sentences(56)]
    top = {"task": "summarization"}
    spec = jobs.make(tmp_path, models("llama"), rows[:32], top, rows[32:], max_steps=2)
    assert jobs.forked(spec) == 0
    (warning,) = [row for row in jobs.journal(spec, "warning") if row["code"] == "metrics_sampled"]
    assert "the first 16 of 24 validation rows" in warning["message"]
    assert generate.MAX_NEW_TOKENS == 24
