"""Rows of encoders that answer questions have the losses and gradients without padding that they have
alone."""

import copy

import pytest
import torch
import transformers

from trainer.kernels.install import install_linear
from trainer.model.hardware import Hardware
from trainer.padding_free import trial
from trainer.padding_free.spans import (
    Collate,
    first_position,
    make_spans_padding_free,
    span_loss,
    span_losses,
)
from trainer.tests import jobs
from trainer.tests.padding_free.test_padding_free import PLAIN, gradients
from trainer.tests.padding_free.test_pairs import told_of
from trainer.tests.tiny import sentences

# Tokens of rows and the positions of their answers: uneven, of one token, at both ends, longer than a block.
ROWS = ((31, 4, 9), (5, 2, 2), (150, 0, 149), (200, 130, 131), (12, 11, 11))
SIZE = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}


def some_encoder(kind):
    import peft

    torch.manual_seed(3)
    config = {
        "bert": transformers.BertConfig,
        "roberta": transformers.RobertaConfig,
        "electra": transformers.ElectraConfig,
    }[kind](vocab_size=400, initializer_range=0.1, max_position_embeddings=300, **SIZE)
    model = transformers.AutoModelForQuestionAnswering.from_config(config)
    adapter = peft.LoraConfig(
        r=4, target_modules="all-linear", modules_to_save=["qa_outputs"], task_type="QUESTION_ANS"
    )
    model = peft.get_peft_model(model, adapter)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


def some_rows(typed):
    generator = torch.Generator().manual_seed(1)
    rows = []
    for length, start, end in ROWS:
        row = {"input_ids": torch.randint(8, 400, (length,), generator=generator).tolist()}
        rows.append(row | {"start_positions": start, "end_positions": end})
        if typed:
            rows[-1]["token_type_ids"] = [int(place > 3) for place in range(length)]
    return rows


def alone(model, rows):
    """The library's loss of each row; PEFT's wrapper would leave out token types."""
    tensors = ({name: torch.tensor([value]) for name, value in row.items()} for row in rows)
    return torch.stack([model.get_base_model()(**row).loss.float() for row in tensors])


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra"])
def test_rows_have_the_losses_and_gradients_that_they_have_alone(kind):
    model, rows = some_encoder(kind), some_rows(kind != "roberta")
    usual = copy.deepcopy(model)
    install_linear(model, "cpu")
    assert make_spans_padding_free(model, rows, PLAIN) is None
    inner = model.get_base_model()
    assert first_position(inner) == (2 if kind == "roberta" else 0)
    batch = Collate(first_position(inner))(rows)
    expected = alone(usual, rows)
    torch.testing.assert_close(span_losses(inner, batch), expected, rtol=1e-5, atol=1e-5)
    theirs, ours = gradients(usual, expected.mean()), gradients(model, span_loss(inner, batch))
    assert set(ours) == set(theirs) and any("qa_outputs" in name for name in ours)
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-3, atol=1e-6)


def test_bfloat16_is_as_near_as_its_rounding():
    model, rows = some_encoder("bert"), some_rows(True)
    expected = alone(model, rows)
    model.to(torch.bfloat16)
    install_linear(model, "cpu")
    assert make_spans_padding_free(model, rows, Hardware("cpu", "bfloat16", None, False)) is None
    found = span_losses(model.get_base_model(), Collate(0)(rows))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_a_model_that_computes_something_else_stays_as_it_is_and_says_why():
    config = transformers.DistilBertConfig(vocab_size=400, dim=64, n_layers=2, n_heads=4, hidden_dim=128)
    import peft

    model = peft.get_peft_model(
        transformers.AutoModelForQuestionAnswering.from_config(config),
        peft.LoraConfig(
            target_modules="all-linear", modules_to_save=["qa_outputs"], task_type="QUESTION_ANS"
        ),
    )
    assert make_spans_padding_free(model, some_rows(False), PLAIN) == "the head of the model has other parts"
    model, rows = some_encoder("bert"), some_rows(True)
    # A model whose weights are not what they seem: positions count, so that moved ones are another loss.
    model.get_base_model().bert.embeddings.position_embeddings.padding_idx = 4
    assert make_spans_padding_free(model, rows, PLAIN) == "the model computes something else without padding"
    assert model.get_base_model().config._attn_implementation == "sdpa"


def test_a_model_with_lora_gets_token_types():
    from trainer.libraries.peft import pass_on_all_inputs

    model = some_encoder("bert")
    pass_on_all_inputs(model)
    ids = torch.tensor([[9, 8, 7, 6]])
    plain, typed = (model(input_ids=ids, token_type_ids=types) for types in (ids * 0, (ids > 7).long()))
    assert float((plain.start_logits - typed.start_logits).abs().max()) > 1e-3


def test_a_run_trains_alike_without_padding_and_in_parts(models, tmp_path, monkeypatch):
    rows = [
        {"context": f"{text * (1 + at % 5)} The {reply}.", "question": "Which team?", "answer": reply}
        for at, (text, reply) in enumerate(sentences(32))
    ]
    top = {"task": "extractive-question-answering"}
    told = []
    for name in ("without", "parts"):
        spec = jobs.make(
            tmp_path / name,
            without_dropout(models("bert"), tmp_path / f"model-{name}"),
            rows,
            top=top,
            max_steps=4,
        )
        assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
        told.append((told_of(spec)[-1:], jobs.losses(spec), jobs.journal(spec, "metric")[-1]["tokens"]))
        monkeypatch.setattr(trial, "USUAL", -1.0)
    (_, losses, tokens) = zip(*told, strict=True)
    assert told[0][0] == ["rows without padding"]
    assert told[1][0] == [
        "rows in parts of similar length: the model computes something else without padding"
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert tokens[0] == tokens[1]


def without_dropout(model, folder):
    """A copy of the model directory in which nothing is dropped, which differs with the shape of a batch."""
    import json
    import shutil

    shutil.copytree(model, folder)
    config = json.loads((folder / "config.json").read_text())
    without = {name: 0.0 for name in config if name.endswith(("_dropout_prob", "dropout_rate"))}
    (folder / "config.json").write_text(json.dumps({**config, **without}))
    return folder
