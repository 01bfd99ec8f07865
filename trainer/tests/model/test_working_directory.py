"""A tokenizer that names the `.env` of the directory in which its loader runs."""

import json
import shutil

import pytest
from transformers import AutoTokenizer

from trainer.model import view
from trainer.model.tokenizer import load_tokenizer

CANARY = "canary0c5f"
WORDS = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")


@pytest.fixture
def trap(models, tmp_path, monkeypatch):
    """The model's folder; this process runs beside its `.env`."""
    (tmp_path / ".env").write_text("\n".join((f"HUB_TOKEN={CANARY}", *WORDS)))
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(models("llama"), tmp_path / "model")
    # With a tokenizer.json, the class and its vocabulary would not matter.
    (folder / "tokenizer.json").unlink()
    (folder / "spiece.model").write_text("x")
    fields = {"tokenizer_class": "BertTokenizer", "vocab": "./.env", "unk_token": "[UNK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(fields))
    return folder


def saved(tokenizer, folder):
    tokenizer.save_pretrained(folder)
    return (folder / "tokenizer.json").read_text()


def test_a_tokenizer_that_names_env_of_the_working_directory_gets_none_of_it(trap, tmp_path):
    assert CANARY in saved(AutoTokenizer.from_pretrained(trap), tmp_path / "unprotected"), "not a trap"
    tokenizer = load_tokenizer(view.make_view(trap, tmp_path / "view"))
    assert CANARY not in saved(tokenizer, tmp_path / "protected")
