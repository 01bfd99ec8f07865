"""Rows of T5 have the loss and gradients without padding that they have in a batch."""

import copy

import peft
import pytest
import torch

from trainer.kernels.install import install_linear
from trainer.model.hardware import Hardware
from trainer.padding_free import trial
from trainer.padding_free.flat_seq2seq import collate, flat_loss, make_seq2seq_padding_free
from trainer.tests import jobs
from trainer.tests.padding_free.test_length_groups import LENGTHS, some_batch
from trainer.tests.padding_free.test_padding_free import PLAIN, gradients
from trainer.tests.padding_free.test_pairs import told_of
from trainer.tests.padding_free.test_spans import without_dropout
from trainer.tests.tiny import build_model, build_tokenizer, sentences

# One source and one target longer than a block.
MORE = (*LENGTHS, (160, 9), (7, 140))


def some_model(kind):
    torch.manual_seed(3)
    model = build_model(kind, build_tokenizer(sequence_ends=True))
    model = peft.get_peft_model(
        model, peft.LoraConfig(r=4, target_modules="all-linear", task_type="SEQ_2_SEQ_LM")
    )
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


def rows_of(batch):
    """The rows of a padded batch."""
    return [
        {"input_ids": ids[mask == 1].tolist(), "labels": labels[labels != -100].tolist()}
        for ids, mask, labels in zip(*batch.values(), strict=True)
    ]


def test_rows_have_the_loss_and_gradients_of_their_batch():
    model, batch = some_model("t5"), some_batch(lengths=MORE)
    usual, rows = copy.deepcopy(model), rows_of(batch)
    install_linear(model, "cpu")
    assert make_seq2seq_padding_free(model, rows, PLAIN) is None
    expected, loss = usual(**batch).loss, flat_loss(model.get_base_model(), collate(rows))
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    theirs, ours = gradients(usual, expected), gradients(model, loss)
    assert set(ours) == set(theirs) and len(ours) > 8
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-6)
    # Afterwards it answers as before.
    ids = batch["input_ids"][:2, :5]
    torch.testing.assert_close(
        model(input_ids=ids, decoder_input_ids=ids).logits, usual(input_ids=ids, decoder_input_ids=ids).logits
    )


def test_bfloat16_is_as_near_as_its_rounding():
    model, batch = some_model("t5"), some_batch(lengths=MORE)
    rows, expected = rows_of(batch), float(model(**batch).loss.detach())
    model.to(torch.bfloat16)
    install_linear(model, "cpu")
    assert make_seq2seq_padding_free(model, rows, Hardware("cpu", "bfloat16", None, False)) is None
    assert float(flat_loss(model.get_base_model(), collate(rows)).detach()) == pytest.approx(
        expected, rel=5e-3
    )


def test_a_model_whose_positions_count_from_the_first_stays_as_it_is():
    model = some_model("bart")
    why = make_seq2seq_padding_free(model, rows_of(some_batch()), PLAIN)
    assert why == "the model computes something else without padding"
    assert {part.config._attn_implementation for part in model.modules() if hasattr(part, "config")} == {
        "sdpa"
    }


def test_a_run_trains_alike_without_padding_and_in_parts(models, tmp_path, monkeypatch):
    rows = [{"input": text * (1 + at % 5), "output": reply} for at, (text, reply) in enumerate(sentences(32))]
    told = []
    for name in ("without", "parts"):
        model = without_dropout(models("t5"), tmp_path / f"model-{name}")
        spec = jobs.make(tmp_path / name, model, rows, top={"task": "summarization"}, max_steps=4)
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        told.append((told_of(spec)[-1:], jobs.losses(spec), jobs.journal(spec, "metric")[-1]["tokens"]))
        monkeypatch.setattr(trial, "USUAL", -1.0)
    assert told[0][0] == ["rows without padding"]
    assert told[1][0][0].startswith("rows in parts of similar length: ")
    assert told[0][1] == pytest.approx(told[1][1], rel=1e-5)
    assert told[0][2] == told[1][2]
