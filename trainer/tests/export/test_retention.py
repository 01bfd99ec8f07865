"""How much of the base model a training keeps: against plain PEFT, and where much is lost."""

import math
import shutil
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from peft.helpers import rescale_adapter_scale
from transformers import AutoModelForCausalLM, AutoTokenizer

from trainer.data.encode import IGNORED
from trainer.data.template import load
from trainer.export.retention import general_text, measure
from trainer.protocol import checkpoints
from trainer.tests import jobs


@pytest.fixture(scope="module")
def knowing(models, tmp_path_factory):
    """A tiny model that knows the passages by heart."""
    folder = tmp_path_factory.mktemp("knowing")
    shutil.copytree(models("llama"), folder, dirs_exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    rows = [torch.tensor([tokenizer(text).input_ids[: measure.LONGEST]]) for text in general_text.PASSAGES]
    for _ in range(30):
        optimizer.zero_grad()
        for ids in rows:
            model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def trained(knowing, tmp_path_factory):
    """A run that learns its rows so fast that it loses much."""
    folder = tmp_path_factory.mktemp("retention")
    spec = jobs.make(
        folder,
        knowing,
        num_train_epochs=4,
        learning_rate=0.03,
        eval_split=0.25,
        save_steps=6,
        save_total_limit=3,
    )
    assert jobs.train(spec) == 0
    return spec


@pytest.fixture(scope="module")
def figures(trained):
    return jobs.journal(trained, "done")[0]["metrics"]


@pytest.fixture(scope="module")
def plain(knowing, trained):
    """The trained model by the library alone, in float32, and its tokenizer."""
    base = AutoModelForCausalLM.from_pretrained(knowing, dtype=torch.float32)
    adapter = trained.parent / "artifacts" / "adapter"
    return PeftModel.from_pretrained(base, adapter).eval(), AutoTokenizer.from_pretrained(adapter)


def loss(model, tokenizer):
    """The mean loss of a token of the passages, one after the other."""
    nats, tokens = 0.0, 0
    for text in general_text.PASSAGES:
        ids = torch.tensor([tokenizer(text).input_ids[: measure.LONGEST]])
        with torch.no_grad():
            nats += float(model(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
        tokens += ids.shape[1] - 1
    return nats / tokens


def test_the_losses_on_general_text_are_those_of_the_library(figures, plain):
    model, tokenizer = plain
    assert figures["general/loss"] == pytest.approx(loss(model, tokenizer), abs=1e-4)
    with model.disable_adapter():
        assert figures["general/base_loss"] == pytest.approx(loss(model, tokenizer), abs=1e-4)


def test_the_divergence_is_from_the_base_to_the_trained_model(figures, plain, trained):
    model, tokenizer = plain
    rows = measure._answers(tokenizer, load(trained.parent / "artifacts" / "template.json"), measure.LONGEST)
    nats, tokens = 0.0, 0
    for ids, labels in rows:
        given = torch.tensor([ids])
        with torch.no_grad():
            tuned = model(input_ids=given).logits[0].log_softmax(-1)
            with model.disable_adapter():
                base = model(input_ids=given).logits[0].log_softmax(-1)
        for at in (at for at, label in enumerate(labels[1:]) if label != IGNORED):
            nats += float((base[at].exp() * (base[at] - tuned[at])).sum())
            tokens += 1
    assert tokens > 20 and figures["general/kl"] == pytest.approx(nats / tokens, abs=1e-3)


def test_where_much_is_lost_parts_of_the_strength_are_measured(figures, plain):
    model, tokenizer = plain
    assert figures["general/loss"] > figures["general/base_loss"] + measure.MUCH
    with rescale_adapter_scale(model, 0.5):
        assert figures["strength_0.5/general_loss"] == pytest.approx(loss(model, tokenizer), abs=1e-4)
    assert figures["strength_1/general_loss"] == figures["general/loss"]
    assert figures["strength_0/general_loss"] == figures["general/base_loss"]
    assert figures["strength_1/loss"] == pytest.approx(figures["eval_loss"], rel=0.02)


def test_the_kept_checkpoints_are_measured_as_they_are_on_the_disk(figures, knowing, trained):
    steps = [each.step for each in checkpoints.kept(trained.parent / "checkpoints")]
    assert len(steps) == 3
    tokenizer = AutoTokenizer.from_pretrained(trained.parent / "artifacts" / "adapter")
    for step in steps:
        base = AutoModelForCausalLM.from_pretrained(knowing, dtype=torch.float32)
        model = PeftModel.from_pretrained(base, trained.parent / "checkpoints" / f"checkpoint-{step}").eval()
        found = figures[f"checkpoint_{step}/general_loss"]
        assert found == pytest.approx(loss(model, tokenizer), abs=1e-4)
    assert figures[f"checkpoint_{steps[0]}/general_loss"] != figures["general/loss"]
    assert figures[f"checkpoint_{steps[-1]}/general_loss"] == pytest.approx(figures["general/loss"], abs=1e-4)
    assert figures[f"checkpoint_{steps[-1]}/loss"] == pytest.approx(figures["strength_1/loss"], abs=1e-4)


def test_of_many_checkpoints_the_best_and_some_between_the_first_and_the_last_are_measured():
    kept = [
        checkpoints.Checkpoint(Path(), step, {"metrics": {"eval_loss": abs(step - 80)}})
        for step in range(10, 110, 10)
    ]
    assert [each.step for each in measure.chosen(kept)] == [10, 40, 70, 80, 100]
    assert measure.chosen(kept[:5]) == kept[:5]


def test_a_training_that_changes_little_keeps_all(models, tmp_path):
    spec = jobs.make(tmp_path, models("llama"), max_steps=1, learning_rate=1e-6, eval_split=0.25)
    assert jobs.train(spec) == 0
    (done,) = jobs.journal(spec, "done")
    found = done["metrics"]
    assert found["general/loss"] == pytest.approx(found["general/base_loss"], abs=1e-3)
    assert found["general/kl"] == pytest.approx(0, abs=1e-4)
    assert not any(name.startswith(("strength", "checkpoint")) for name in found)
    assert all(math.isfinite(value) for value in found.values())
