"""The starter base model: its text, its tokenizer, its folder, and the examples that it is tuned on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.starter.build import build_starter
from trainer.starter.recipe import Recipe
from trainer.starter.text import passages

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SMALL = Recipe(passages=120, vocab_size=400, hidden_size=32, intermediate_size=64, heads=2, steps=3, batch=4)


def rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()]


def test_text_is_the_same_for_a_seed_and_another_for_another() -> None:
    assert list(passages(50, 7)) == list(passages(50, 7))
    assert list(passages(50, 7)) != list(passages(50, 8))


def test_text_answers_no_message() -> None:
    text = "\n".join(passages(6000, Recipe().seed))
    for answer in {row["output"] for row in rows("support.jsonl")}:
        team, reply = answer.split(": ")
        assert reply not in text
        assert f"{team}:" not in text


def test_folder_loads_and_tokenizes_without_adding_anything(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    lines: list[str] = []
    out = build_starter(tmp_path / "model", lines.append, SMALL)
    assert [line for line in lines if "step 3/3" in line]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]

    tokenizer = AutoTokenizer.from_pretrained(out)
    text = "My parcel isn't here.\n###\nSíðan 1234! 🙂"
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert not set(ids) & set(tokenizer.all_special_ids)
    assert tokenizer.chat_template is None
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<|begin|>", "<|end|>")

    model = AutoModelForCausalLM.from_pretrained(out)
    assert model.config.eos_token_id == tokenizer.eos_token_id
    assert model.config.vocab_size == len(tokenizer)
    assert (out / "model.safetensors").is_file()


def test_same_recipe_makes_the_same_weights(tmp_path: Path) -> None:
    first = build_starter(tmp_path / "first", lambda _: None, SMALL)
    second = build_starter(tmp_path / "second", lambda _: None, SMALL)
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()


def test_finished_folder_is_kept_and_an_older_recipe_is_replaced(tmp_path: Path) -> None:
    out = build_starter(tmp_path / "model", lambda _: None, SMALL)
    (out / "canary").touch()
    build_starter(out, lambda _: None, SMALL)
    assert (out / "canary").exists()
    build_starter(out, lambda _: None, Recipe(**{**vars(SMALL), "steps": 2}))
    assert not (out / "canary").exists()


def test_foreign_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("keep")
    with pytest.raises(OSError, match="not a starter model"):
        build_starter(tmp_path / "mine", lambda _: None, SMALL)
    assert (tmp_path / "mine" / "letter").read_text() == "keep"


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def stop(line: str) -> None:
        if "step" in line and "/3" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_starter(tmp_path / "model", stop, SMALL)
    assert list(tmp_path.iterdir()) == []


def test_digest_needs_no_torch_and_changes_with_the_recipe() -> None:
    code = """
import sys
from trainer.starter.main import main
main(["--digest"])
sys.exit("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == Recipe().digest()
    assert Recipe().digest() != SMALL.digest()


@pytest.mark.parametrize(
    ("name", "fields", "least"),
    [
        ("support.jsonl", {"input", "output"}, 400),
        ("summarization.jsonl", {"input", "output"}, 100),
        ("question-answering.jsonl", {"context", "question", "answer"}, 100),
        ("preferences.jsonl", {"prompt", "chosen", "rejected"}, 100),
    ],
)
def test_examples_hold_strings_in_the_fields_of_their_task(name: str, fields: set[str], least: int) -> None:
    found = rows(name)
    assert len(found) >= least
    assert len({json.dumps(row) for row in found}) == len(found)
    for row in found:
        assert set(row) == fields
        assert all(isinstance(value, str) and value.strip() for value in row.values())
        if "context" in row:
            assert row["answer"] in row["context"]


def test_held_out_questions_are_in_no_row_and_no_passage() -> None:
    questions = json.loads((EXAMPLES / "support-questions.json").read_text(encoding="utf-8"))
    found = rows("support.jsonl")
    assert len(questions) == 10
    text = "\n".join(passages(6000, Recipe().seed))
    for question in questions:
        assert question["prompt"] not in text
        assert all(question["prompt"] not in row["input"] for row in found)
        answers = {row["output"] for row in found if question["wording"] in row["output"]}
        assert len(answers) == 1
        assert answers.pop().startswith(question["team"])
