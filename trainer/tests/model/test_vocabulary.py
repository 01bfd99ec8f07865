"""A tokenizer with more tokens than the embedding has rows."""

import json
import shutil

import pytest

from trainer.tests import jobs

ROWS = [{"input": f"Where is parcel {n}?", "output": "team: shipping"} for n in range(12)]


def larger(models, folder, *tokens, **options):
    """A tiny model whose tokenizer has more `tokens` than its embedding has rows."""
    import transformers

    shutil.copytree(models("llama"), folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(list(tokens), **options)
    tokenizer.save_pretrained(folder)
    return folder


def train(tmp_path, model, rows=ROWS):
    spec = jobs.make(tmp_path / "job", model, rows, max_steps=1)
    return jobs.train(spec), jobs.journal(spec)[-1]


def test_a_vocabulary_larger_than_the_embedding_is_refused_with_both_numbers(models, tmp_path):
    model = shutil.copytree(models("llama"), tmp_path / "model")
    tokens = json.loads((model / "tokenizer.json").read_text())
    size = len(tokens["model"]["vocab"])
    tokens["model"]["vocab"].update({"qq": size, "qqq": size + 1})
    (model / "tokenizer.json").write_text(json.dumps(tokens))
    code, last = train(tmp_path, model)
    assert code == 1 and last["code"] == "bad_model"
    numbers = f"has {size + 2:,} tokens and the model's embedding {size:,} rows"
    assert f"{numbers}: none for 'qq' (token {size:,})" in last["message"]


def test_a_padding_token_without_a_row_is_refused(models, tmp_path):
    import transformers

    model = larger(models, tmp_path / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.add_special_tokens({"pad_token": "<added pad>"})
    tokenizer.save_pretrained(model)
    code, last = train(tmp_path, model)
    assert code == 1 and last["code"] == "bad_model" and "'<added pad>'" in last["message"]


@pytest.mark.parametrize("written", [False, True])
def test_an_added_token_without_a_row_matters_where_it_is_written(models, tmp_path, written):
    # As Gemma 3's text models have one for images.
    model = larger(models, tmp_path / "model", "<image>", special_tokens=True)
    extra = [{"input": "What is on <image>?", "output": "a cat"}] if written else []
    code, last = train(tmp_path, model, ROWS + extra)
    if written:
        assert code == 1 and last["code"] == "bad_dataset_row"
        assert last["message"].startswith("Line 13 of the dataset: the text has the special token '<image>'")
    else:
        assert code == 0, last
