"""Whether the table of architectures is true: each toy is trained, exported and asked again."""

from __future__ import annotations

import pytest

from trainer.tests.architectures import table, toys, trial, whole_models

# The architectures of the models that are used most.
MOST_USED = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "qwen3-moe",
    "qwen3.5",
    "gemma3",
    "phi3",
    "granite",
    "gpt-oss",
)
# Those among them that differ most in layers, masks and experts (Qwen3-MoE trains with its experts below).
# Each takes half a minute, and the others take other paths in little.
TRIED_ALWAYS = ("llama", "qwen3.5", "gemma3", "phi3", "gpt-oss")
# A multimodal model whose text part is a class of its own. All of Qwen3-VL is made without the other parts.
TEXT_PARTS = ("gemma3-vision",)
# llama.cpp has no Mllama.
WITHOUT_GGUF = ("mllama",)


def check(name, folder):
    row = trial.trial(name, folder)
    assert table.entry(row) == table.read()[name], row


def most_used():
    for name in MOST_USED:
        yield pytest.param(name, marks=[] if name in TRIED_ALWAYS else [pytest.mark.long])


@pytest.mark.parametrize("name", list(most_used()))
def test_most_used(name, tmp_path):
    assert all(table.read()[name][fact] for fact in ("trains", "gguf", "loss_equal", "answer_equal")), name
    check(name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(toys.TOYS) - set(MOST_USED)))
def test_others(name, tmp_path):
    check(name, tmp_path)


def text_parts():
    for name in whole_models.TOYS:
        yield pytest.param(name, marks=[] if name in TEXT_PARTS else [pytest.mark.long])


@pytest.mark.parametrize("name", list(text_parts()))
def test_text_parts_train_and_answer_as_transformers(name, tmp_path):
    row = table.entry(trial.trial(name, tmp_path))
    facts = ["trains", "loss_equal"]
    if name not in WITHOUT_GGUF:
        facts += ["gguf", "tokens_equal", "answer_equal"]
    assert all(row[fact] for fact in facts), row


# The experts' tensors in the checkpoint: one by one, and all of a layer in one.
@pytest.mark.parametrize("name", ["qwen3-moe", pytest.param("qwen3.5-moe", marks=pytest.mark.long)])
def test_experts_that_are_trained_answer_as_transformers(name, tmp_path):
    row = trial.trial(name, tmp_path, target_experts=True)
    assert "experts" in row["adapts"].split(), row
    entry = table.entry(row)
    assert all(entry[fact] for fact in ("trains", "loss_equal", "gguf", "tokens_equal", "answer_equal")), row


def test_nothing_is_missing():
    assert set(toys.TOYS) <= set(table.read()) <= set(trial.KNOWN)


def test_none_fails_in_its_training():
    assert [name for name, row in table.read().items() if not row["trains"]] == []


def test_most_make_a_verified_gguf():
    """Of the 86 classes that are both in transformers and in the converter, 83 did when it was written."""
    verified = {
        row["architecture"]
        for name, row in table.read().items()
        if name in toys.TOYS and row["trains"] and row["gguf"] and row["loss_equal"] and row["answer_equal"]
    }
    assert len(verified) >= 83, len(verified)


def test_what_is_trained_is_the_models_own_loss():
    assert [name for name, row in table.read().items() if row["trains"] and not row["loss_equal"]] == []
