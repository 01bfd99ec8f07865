"""New tokens and trained embeddings, from a run to its files: proven, in place, and known to readers."""

import json

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from trainer.export.gguf.header import read_header
from trainer.export.new_tokens.grow import grow
from trainer.model.view import make_view
from trainer.protocol.contracts import read_spec
from trainer.protocol.failures import Failure
from trainer.tests import export_fixture, jobs, tiny
from trainer.tests.training.test_vocabulary import NEW, rows

LONG = pytest.mark.long
EXPORT = {"export": {"quantizations": ["F32"], "required": True}, "tools": export_fixture.TOOLS}
SETTINGS = {"max_steps": 4, "learning_rate": 1e-3}


def padded(folder):
    """A model whose embedding has more rows than its tokenizer has tokens."""
    tokenizer = tiny.build_tokenizer()
    model = tiny.build_model("qwen3", tokenizer)
    model.resize_token_embeddings(len(tokenizer) + 12, mean_resizing=False)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


BASES = {
    "padded": padded,
    "in-parts": lambda folder: in_parts(tiny.build("llama", folder)),
    "gemma2": lambda folder: export_fixture.make_base("gemma2", folder),
    "phi3": lambda folder: export_fixture.make_base("phi3", folder, keep_sentencepiece=False),
}


def in_parts(folder):
    """The model with its weights in several files, of which some have no embedding."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="60KB")
    return folder


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("llama", {"new_tokens": NEW}),
        ("padded", {"new_tokens": NEW}),
        ("qwen3", {"modules_to_save": ["embed_tokens"]}),
        pytest.param("in-parts", {"new_tokens": NEW}, marks=LONG),
        pytest.param("gemma2", {"new_tokens": NEW}, marks=LONG),
        pytest.param("phi3", {"new_tokens": NEW}, marks=LONG),
        pytest.param("gpt2", {"modules_to_save": ["wte"], "new_tokens": NEW}, marks=LONG),
        pytest.param("llama", {"modules_to_save": ["lm_head"], "new_tokens": NEW}, marks=LONG),
        pytest.param("gemma3", {"adapter": "full", "new_tokens": NEW}, marks=LONG),
    ],
)
def test_the_exported_file_is_the_trained_model(models, tmp_path, kind, asked):
    base = BASES[kind](tmp_path / "base") if kind in BASES else models(kind)
    spec = jobs.make(tmp_path / "job", base, rows(), top=EXPORT, **SETTINGS, **asked)
    assert jobs.forked(spec) == 0, jobs.journal(spec)[-1]
    (done,) = jobs.journal(spec, "done")
    assert done["export"]["state"] == "done", done["export"]
    assert done["verification"]["exact"] and done["verification"]["tokens_equal"] == 1
    assert done["verification"]["max_logprob_difference"] < 5e-3
    header = read_header(tmp_path / "job" / "artifacts" / "model-F32.gguf")
    tokens, kinds = (header.metadata[f"tokenizer.ggml.{name}"] for name in ("tokens", "token_type"))
    before = json.loads((base / "config.json").read_text())["vocab_size"]
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "job" / "artifacts" / "adapter")
    assert len(tokens) == header.tensors["token_embd.weight"].shape[0] == max(before, len(tokenizer))
    if "output.weight" in header.tensors:
        assert header.tensors["output.weight"].shape[0] == len(tokens)
    if "new_tokens" in asked:
        ids = tokenizer.convert_tokens_to_ids(NEW)
        assert [tokens[number] for number in ids] == NEW
        # llama.cpp's USER_DEFINED: read wherever it is in a text, and shown.
        assert [kinds[number] for number in ids] == [4, 4]
        assert tokenizer(f"a{NEW[0]}b", add_special_tokens=False).input_ids.count(ids[0]) == 1
    # The base's own files are as they were.
    assert not (tmp_path / "job" / "model" / "config.json").is_symlink()
    assert json.loads((base / "config.json").read_text())["vocab_size"] == before


def test_the_adapter_is_what_peft_loads(models, tmp_path):
    from peft import PeftModel

    spec = jobs.make(tmp_path / "job", models("qwen3"), rows(), **SETTINGS, new_tokens=NEW)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    folder = tmp_path / "job" / "artifacts" / "adapter"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    base = AutoModelForCausalLM.from_pretrained(models("qwen3"), dtype="float32")
    base.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    merged = PeftModel.from_pretrained(base, folder).merge_and_unload()
    ids = tokenizer.convert_tokens_to_ids(NEW)
    (rows_of,) = (
        value for name, value in load_file(folder / "adapter_model.safetensors").items() if "token" in name
    )
    assert merged.get_output_embeddings().weight[ids].equal(rows_of)


def test_a_new_token_begins_as_the_mean_of_its_pieces(models, tmp_path):
    base = models("llama")
    spec = read_spec(jobs.make(tmp_path / "job", base, new_tokens=NEW))
    folder = grow(make_view(base, tmp_path / "view"), spec)
    tokenizer = AutoTokenizer.from_pretrained(base)
    before, after = (load_file(each / "model.safetensors") for each in (base, folder))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert after[name][: len(tensor)].equal(tensor), name
        if not name.endswith(("embed_tokens.weight", "lm_head.weight")):
            continue
        means = [tensor[tokenizer(text, add_special_tokens=False).input_ids].mean(0) for text in NEW]
        assert after[name][len(tensor) :].equal(torch.stack(means)), name


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda view: (view / "tokenizer.json").unlink(), "no tokenizer.json"),
        (lambda view: rewrite(view, vocab_size_per_layer_input=9), "in more than one part"),
        (lambda view: rewrite(view, vocab_size=480), "says that it has 480 rows"),
    ],
)
def test_a_model_that_cannot_have_new_tokens_is_refused(models, tmp_path, change, says):
    spec = read_spec(jobs.make(tmp_path / "job", models("llama"), new_tokens=NEW))
    view = make_view(models("llama"), tmp_path / "view")
    change(view)
    with pytest.raises(Failure, match=says) as refused:
        grow(view, spec)
    assert refused.value.code == "unsupported" and "new_tokens" in refused.value.advice


def rewrite(view, **fields):
    path = view / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
