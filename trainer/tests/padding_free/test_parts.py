"""Batches in parts give the losses and gradients of whole batches."""

import pytest
import torch

from trainer.kernels.install import install
from trainer.padding_free import padding_free, parts
from trainer.padding_free.padding_free import make_padding_free, padding_free_loss
from trainer.tests import jobs
from trainer.tests.kernels.test_last_layer import flat
from trainer.tests.padding_free.test_padding_free import (
    LENGTHS,
    PLAIN,
    assert_same_gradients,
    gradients,
    rows_of,
    some_model,
)


@pytest.mark.parametrize(
    ("lengths", "number"),
    [([10], 1), ([100], 1), ([250], 1), ([50, 51], 2), ([250, 1, 97, 2], 2), ([35] * 8, 4)],
)
def test_rows_are_divided_into_few_parts_of_about_as_many_tokens(lengths, number, monkeypatch):
    monkeypatch.setattr(parts, "TOKENS", 100)
    found = parts.parts_of(lengths)
    assert len(found) == number
    assert sorted(row for part in found for row in part) == list(range(len(lengths)))
    for part in found:
        assert len(part) == 1 or sum(lengths[row] for row in part) <= parts.TOKENS


def passes(model, monkeypatch):
    """The tokens of every pass through `model` from now on."""
    counts = []
    forward = model.base_model.forward

    def counted(*args, **kwargs):
        counts.append(kwargs["input_ids"].shape[1])
        return forward(*args, **kwargs)

    monkeypatch.setattr(model.base_model, "forward", counted)
    return counts


@pytest.mark.parametrize(
    ("kind", "count", "checkpointed"), [("llama", None, False), ("llama", 50, True), ("gpt2", 50, False)]
)
def test_losses_and_gradients_are_those_of_a_whole_batch(kind, count, checkpointed, monkeypatch):
    model = some_model(kind)
    install(model, "cpu")
    assert make_padding_free(model, rows_of(), PLAIN) is None
    if checkpointed:
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
        model.train()
    inner = model.get_base_model()
    counts = passes(inner, monkeypatch)
    count = count if count is None else torch.tensor(count)
    # In the second batch whole parts have nothing to learn.
    for learned in ([2] * len(LENGTHS), [0] * (len(LENGTHS) - 1) + [3]):
        found = []
        for most in (max(LENGTHS) + 1, 10_000):
            monkeypatch.setattr(parts, "TOKENS", most)
            counts.clear()
            loss, number, correct = padding_free_loss(inner, flat(learned), count)
            assert sum(counts) == sum(LENGTHS) and (len(counts) > 1) == (most < sum(LENGTHS))
            found.append((float(loss.detach()), int(number), int(correct), gradients(model, loss)))
        (mine, number, correct, ours), (expected, *whole, theirs) = found
        assert [number, correct] == whole and number == sum(learned)
        assert mine == pytest.approx(expected, rel=1e-6)
        assert_same_gradients(ours, theirs)


def test_what_keeps_no_activations_is_not_divided(monkeypatch):
    model = some_model("llama")
    install(model, "cpu")
    assert make_padding_free(model, rows_of(), PLAIN) is None
    inner = model.get_base_model()
    counts = passes(inner, monkeypatch)
    monkeypatch.setattr(parts, "TOKENS", 1)
    with torch.no_grad():
        padding_free_loss(inner, flat([2] * len(LENGTHS)), None)
    assert counts == [sum(LENGTHS)]


def test_a_training_in_parts_has_the_losses_of_one_in_whole_batches(models, tmp_path, monkeypatch):
    found, divided = [], []
    add = padding_free.sum_of_parts

    def counted(model, losses):
        divided.append(len(losses))
        return add(model, losses)

    monkeypatch.setattr(padding_free, "sum_of_parts", counted)
    for name, most in (("whole", parts.TOKENS), ("parts", 60)):
        assert not divided
        monkeypatch.setattr(parts, "TOKENS", most)
        spec = jobs.make(tmp_path / name, models("llama"), max_steps=4, gradient_accumulation_steps=2)
        assert jobs.train(spec) == 0
        metrics = jobs.journal(spec, "metric")
        found.append([(line["loss"], line["tokens"], line["grad_norm"]) for line in metrics])
    # At least the micro-batches of every step.
    assert len(divided) >= 8
    for theirs, ours in zip(*found, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
