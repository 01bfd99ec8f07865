"""The prompt templates of base models that answer untrained."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from trainer.preview.base_template import write


@pytest.fixture
def written(models, tmp_path, monkeypatch, capsys):
    def ask(kind, template=None):
        model = {"name": f"owner/{kind}", "path": str(models(kind, template))}
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(model).encode())))
        path = tmp_path / "template.json"
        write(str(path))
        told = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert [one.name for one in tmp_path.iterdir()] == ([path.name] if path.exists() else [])
        return told, json.loads(path.read_text("utf-8")) if path.exists() else None

    return ask


@pytest.mark.parametrize(
    ("kind", "template", "source"),
    [("llama", "chatml", "model"), ("llama", None, "hone"), ("t5", None, "plain")],
)
def test_a_model_that_writes_is_asked_as_a_training_would(written, kind, template, source):
    told, stored = written(kind, template)
    assert told == {"task": "text-generation", "strategy": "sft"}
    assert stored["source"] == source
    assert stored["context_length"] == 256


def test_an_encoder_is_refused(written):
    told, stored = written("bert")
    assert told["failed"]["code"] == "unsupported"
    assert "owner/bert (BertForQuestionAnswering) writes no text" in told["failed"]["message"]
    assert stored is None
