"""A dataset is scored with a base model and with adapters, as the evaluations of a training score it."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from trainer.evaluating.main import evaluate
from trainer.tests import jobs, tiny

ROWS = [{"input": text, "output": reply} for text, reply in tiny.sentences(24)]
QUESTIONS = [
    {"context": f"{text} We are {reply}.", "question": "Who?", "answer": reply.removeprefix("team: ")}
    for text, reply in tiny.sentences(24)
]
PAIRS = [{"prompt": text, "chosen": reply, "rejected": "no"} for text, reply in tiny.sentences(24)]


def order(
    folder: Path, adapter: Path | None = None, kept_rows: int = 5, graders: dict[str, Any] | None = None
) -> None:
    """Writes what the trainer is asked beside a specification."""
    template = None if adapter is None else str(adapter.parent / "template.json")
    value = {"adapter": adapter and str(adapter), "template": template, "kept_rows": kept_rows}
    value |= {} if graders is None else {"graders": graders}
    (folder / "evaluate.json").write_text(json.dumps(value))


def score(
    folder: Path,
    model: Path,
    rows: list[dict],
    top: dict[str, Any],
    adapter: Path | None = None,
    **settings: object,
) -> tuple[dict[str, float], list[dict]]:
    """The figures and the rows of an evaluation."""
    spec = jobs.make(folder, model, rows, top, **settings)
    order(folder, adapter)
    assert evaluate(str(spec)) == 0, (folder / "journal.jsonl").read_text()
    shares = [line["progress"] for line in jobs.journal(spec, "phase") if line["phase"] == "evaluate"]
    assert shares[0] == 0 and shares[-1] == 1 and shares == sorted(shares)
    return jobs.journal(spec, "done")[0]["metrics"], json.loads((folder / "rows.json").read_text())


@pytest.mark.parametrize(("kind", "adapter"), [("llama", "lora"), ("t5", "lora"), ("t5", "full")])
def test_answers_are_scored_as_in_the_evaluations_of_a_training(models, tmp_path, kind, adapter):
    top = {"task": "summarization"}
    held_out = [ROWS[number] for number in (1, 2, 5, 7, 8, 11)]
    trained = jobs.make(
        tmp_path / "run",
        models(kind),
        ROWS,
        top,
        held_out,
        **{"eval_split": 0, "max_steps": 24, "eval_steps": 24, "adapter": adapter},
    )
    assert jobs.train(trained) == 0
    base, tuned = (jobs.journal(trained, "eval")[at]["metrics"] for at in (0, -1))
    adapter = trained.parent / "artifacts" / "adapter"
    of_base, of_base_rows = score(tmp_path / "base", models(kind), held_out, top)
    of_tuned, rows = score(tmp_path / "tuned", models(kind), held_out, top, adapter)
    for name in ("rouge1", "rouge2", "rougeL"):
        assert of_base[name] == pytest.approx(base[name]) and of_tuned[name] == pytest.approx(tuned[name])
    samples = {line["step"]: [] for line in jobs.journal(trained, "sample")}
    for line in jobs.journal(trained, "sample"):
        samples[line["step"]].append(line["text"])
    assert [row["answer"] for row in of_base_rows[:3]] == samples[0] != samples[24]
    assert [row["answer"] for row in rows[:3]] == samples[24]
    assert of_tuned["loss"] < of_base["loss"]
    assert of_tuned["perplexity"] == pytest.approx(math.exp(of_tuned["loss"]))
    assert set(of_tuned) == {"loss", "perplexity", "exact_match", "f1", "rouge1", "rouge2", "rougeL"}
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["reference"] for row in rows] == [row["output"] for row in held_out[:5]]
    for row in rows:
        assert row["prompt"] == held_out[row["line"] - 1]["input"] and row["figures"]["loss"] > 0
        assert (row["figures"]["exact_match"] == 100) == (row["answer"] == row["reference"])


def test_the_loss_is_that_of_all_learned_tokens(models, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    rows = [
        {"text": text} for text in ("A short one.", "A text that is somewhat longer than that, and more.")
    ]
    figures, kept = score(tmp_path / "text", models("llama"), rows, {})
    assert set(figures) == {"loss", "perplexity"}
    assert [row["answer"] for row in kept] == [None, None]
    model = AutoModelForCausalLM.from_pretrained(models("llama"), dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(models("llama"))
    nats = tokens = 0
    for row, result in zip(rows, kept, strict=True):
        ids = torch.tensor([[*tokenizer(row["text"]).input_ids, tokenizer.eos_token_id]])
        loss, count = float(model(input_ids=ids, labels=ids).loss), ids.shape[1] - 1
        assert result["figures"]["loss"] == pytest.approx(loss, rel=1e-4)
        nats, tokens = nats + loss * count, tokens + count
    assert figures["loss"] == pytest.approx(nats / tokens, rel=1e-4)


def test_calls_of_tools_are_scored_as_in_the_evaluations_of_a_training(tmp_path, monkeypatch):
    from trainer.tests.training.test_shapes import CALLING, TOOLS
    from trainer.training import generate

    monkeypatch.setattr(generate, "MAX_NEW_TOKENS", 128)
    model = tiny.build("llama", tmp_path / "model", "chatml")
    (model / "chat_template.jinja").write_text(CALLING)
    asks = [{**TOOLS, "messages": TOOLS["messages"][:2]}] * 6
    says = [{"messages": [TOOLS["messages"][0], {"role": "assistant", "content": "team: billing"}]}] * 2
    trained = jobs.make(
        tmp_path / "run", model, asks * 8, {}, [*asks, *says], eval_split=0, max_steps=96, learning_rate=1e-2
    )
    assert jobs.train(trained) == 0
    base, tuned = (jobs.journal(trained, "eval")[at]["metrics"] for at in (0, -1))
    names = ("right_tool", "right_arguments")
    assert [base[name] for name in names] == [0, 0]
    assert [tuned[name] for name in names] == [100, 100]
    adapter = trained.parent / "artifacts" / "adapter"
    figures, rows = score(tmp_path / "tuned", model, [*asks, *says], {}, adapter)
    # Rows that offer no tools do not count.
    assert [figures[name] for name in names] == [100, 100]
    assert ["right_tool" in row["figures"] for row in rows] == [True] * 5
    # The wrong arguments.
    other = json.loads(json.dumps(asks).replace(r"{\"id\":7}", r"{\"id\":8}"))
    assert other != asks
    figures, _ = score(tmp_path / "other", model, other, {}, adapter)
    assert [figures[name] for name in names] == [100, 0]


def test_a_base_model_without_tools_is_asked_in_the_syntax_of_hermes(tmp_path):
    from trainer.tests.training.test_shapes import TOOLS

    model = tiny.build("llama", tmp_path / "model", "chatml", context=1024)
    rows = [{**TOOLS, "messages": TOOLS["messages"][:2]}] * 4
    spec = jobs.make(tmp_path / "refused", model, rows)
    order(spec.parent)
    assert evaluate(str(spec)) == 1
    assert "Set tool_syntax to hermes" in jobs.journal(spec, "failed")[0]["advice"]
    figures, _ = score(tmp_path / "hermes", model, rows, {}, tool_syntax="hermes")
    assert [figures[name] for name in ("right_tool", "right_arguments")] == [0, 0]


def test_spans_are_compared_with_the_answers_of_questions(models, tmp_path):
    top = {"task": "extractive-question-answering"}
    trained = jobs.make(tmp_path / "run", models("bert"), QUESTIONS, top, max_seq_length=64, max_steps=2)
    assert jobs.train(trained) == 0
    adapter = trained.parent / "artifacts" / "adapter"
    figures, rows = score(tmp_path / "tuned", models("bert"), QUESTIONS[:4], top, adapter)
    assert set(figures) == {"exact_match", "f1", "rouge1", "rouge2", "rougeL"}
    assert all(row["answer"] in QUESTIONS[row["line"] - 1]["context"] for row in rows)


def test_preferences_are_won_by_the_likelier_answer(models, tmp_path):
    top = {"strategy": "dpo"}
    trained = jobs.make(tmp_path / "run", models("llama"), PAIRS, top, learning_rate=5e-2, num_train_epochs=3)
    assert jobs.train(trained) == 0
    adapter = trained.parent / "artifacts" / "adapter"
    swapped = [{**pair, "chosen": pair["rejected"], "rejected": pair["chosen"]} for pair in PAIRS[:6]]
    figures, rows = score(tmp_path / "tuned", models("llama"), PAIRS[:6], top, adapter)
    against, _ = score(tmp_path / "swapped", models("llama"), swapped, top, adapter)
    wins = [row["figures"]["win"] for row in rows]
    for row in rows:
        chosen, rejected = (row["figures"][f"{name}_log_likelihood"] for name in ("chosen", "rejected"))
        assert row["figures"]["win"] == (1 if chosen > rejected else 0)
        assert (row["reference"], row["rejected"]) == (PAIRS[row["line"] - 1]["chosen"], "no")
    assert figures["win_rate"] + against["win_rate"] == pytest.approx(100)
    assert len(wins) == 5 and figures["win_rate"] in [pytest.approx(100 * won / 6) for won in range(7)]


def test_right_answers_win_over_wrong_ones(models, tmp_path):
    top = {"strategy": "kto"}
    rows = [
        {
            "prompt": pair["prompt"],
            "completion": pair["chosen" if at % 2 else "rejected"],
            "label": at % 2 > 0,
        }
        for at, pair in enumerate(PAIRS)
    ]
    trained = jobs.make(tmp_path / "run", models("llama"), rows, top, learning_rate=2e-2, num_train_epochs=4)
    assert jobs.train(trained) == 0
    adapter = trained.parent / "artifacts" / "adapter"
    figures, told = score(tmp_path / "tuned", models("llama"), rows[:6], top, adapter)
    losses = [(rows[row["line"] - 1]["label"], row["figures"]["loss"]) for row in told]
    assert set(figures) == {"loss", "perplexity", "win_rate_per_token"}
    assert all((row["reference"] is None) == (row["rejected"] == "no") for row in told)
    swapped = [{**row, "label": not row["label"]} for row in rows[:6]]
    against, _ = score(tmp_path / "swapped", models("llama"), swapped, top, adapter)
    assert figures["win_rate_per_token"] + against["win_rate_per_token"] == pytest.approx(100)
    assert figures["win_rate_per_token"] > 50 and len(losses) == 5
    alone, _ = score(tmp_path / "alone", models("llama"), rows[1:6:2], top, adapter)
    assert set(alone) == {"loss", "perplexity"}


def test_it_stops_and_says_what_is_missing(models, tmp_path):
    spec = jobs.make(tmp_path / "stopped", models("llama"), ROWS)
    order(spec.parent)
    (spec.parent / "stop").touch()
    assert evaluate(str(spec)) == 0
    assert jobs.journal(spec)[-1]["outcome"] == "stopped" and not (spec.parent / "rows.json").exists()

    spec = jobs.make(tmp_path / "gone", models("llama"), ROWS)
    order(spec.parent, tmp_path / "nowhere" / "adapter")
    (tmp_path / "nowhere").mkdir()
    assert evaluate(str(spec)) == 1
    assert "is no longer there" in jobs.journal(spec, "failed")[0]["message"]

    spec = jobs.make(
        tmp_path / "headless",
        without_head(models("bert"), tmp_path / "encoder"),
        QUESTIONS,
        {"task": "extractive-question-answering"},
    )
    order(spec.parent)
    assert evaluate(str(spec)) == 1
    failed = jobs.journal(spec, "failed")[0]
    assert failed["code"] == "unsupported" and "no head" in failed["message"]


def without_head(model: Path, folder: Path) -> Path:
    """A copy of a model without the weights of its head for questions."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(model, folder)
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "qa_outputs" not in name}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    return folder


def test_rows_beyond_the_context_are_named(models, tmp_path):
    beyond = {"input": "Hello. " * 10, "output": "word " * 400}
    filling = {"input": "Hello there, my order is late. " * 80, "output": "team: shipping"}
    rows = [ROWS[0], beyond, filling, ROWS[1]]
    figures, kept = score(tmp_path / "some", models("llama"), rows, {})
    said = {
        line["code"]: line["message"] for line in jobs.journal(tmp_path / "some" / "spec.json", "warning")
    }
    assert said.keys() == {"rows_truncated", "prompts_truncated"}
    assert said["rows_truncated"].startswith(
        "2 of 4 rows are longer than the model's context of 256 tokens (line 3 has "
    )
    assert said["rows_truncated"].endswith(
        "are truncated; 1 of them lose their whole answer and are dropped."
    )
    assert said["prompts_truncated"].startswith(
        "1 of 4 prompts leave no room for an answer in the model's context"
    )
    assert said["prompts_truncated"].endswith("(the first is in line 3).")
    assert ["loss" in row["figures"] for row in kept] == [True, True, False, True]
    assert figures["loss"] > 0

    spec = jobs.make(tmp_path / "none", models("llama"), [filling])
    order(spec.parent)
    assert evaluate(str(spec)) == 1
    failed = jobs.journal(spec, "failed")[0]
    assert (
        "Nothing of any answer is left" in failed["message"] and "context of 256 tokens" in failed["message"]
    )
    assert failed["advice"] == "Choose a model with a longer context, or add shorter rows."

    long_pair = {**PAIRS[0], "chosen": "yes " * 400}
    spec = jobs.make(tmp_path / "pairs", models("llama"), [*PAIRS[:3], long_pair], {"strategy": "dpo"})
    order(spec.parent)
    assert evaluate(str(spec)) == 0
    (told,) = jobs.journal(spec, "warning")
    assert told["message"].startswith("1 of 4 rows are longer than the model's context of 256 tokens (line 4")


def test_graders_score_the_answers_with_all_columns_of_the_rows(models, tmp_path):
    rows = [{**row, "length": 10_000, "label": f"{at}"} for at, row in enumerate(ROWS[:6])]
    del rows[2]["label"]
    answer = "{{sample.output_text}}"
    graders = {
        "short": {"type": "hone_number", "input": "1", "reference": "{{item.length}}"}
        | {"tolerance": 9_999, "relative_tolerance": 0},
        "same": {"type": "string_check", "operation": "eq", "input": answer, "reference": "{{item.output}}"},
        "label": {"type": "string_check", "operation": "ne", "input": answer, "reference": "{{item.label}}"},
    }
    spec = jobs.make(tmp_path, models("llama"), rows, {"task": "text-generation"})
    order(tmp_path, graders=graders)
    assert evaluate(str(spec)) == 0, (tmp_path / "journal.jsonl").read_text()
    figures = jobs.journal(spec, "done")[0]["metrics"]
    assert figures["grader:short"] == 1 and figures["grader:label"] == pytest.approx(5 / 6)
    found = json.loads((tmp_path / "rows.json").read_text())
    assert [row["figures"]["grader:label"] for row in found] == [1, 1, 0, 1, 1]
    assert figures["grader:same"] == figures["exact_match"] / 100 == 0
    assert found[2]["notes"]["label"].startswith("The row has no item.label.")
    assert "differs from" in found[0]["notes"]["same"]
    (warning,) = [line for line in jobs.journal(spec, "warning") if line["code"] == "rows_not_graded"]
    assert warning["message"].startswith(
        "The grader label could not score 1 of 6 rows, which count as 0. Line 3: The row has no item.label."
    )
