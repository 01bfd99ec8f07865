"""An adapter of a model whose weights are stored quantized is merged into their values in full precision."""

import json

import pytest
import torch
from safetensors.torch import load_file

from trainer.export import full_precision
from trainer.protocol.contracts import read_spec
from trainer.tests import export_fixture, jobs
from trainer.tests.model import stored_codes
from trainer.tests.model import test_quantized as stored

KINDS = ("4 bits", "8 bits", "fp8", "mxfp4")
# Those that a training starts from a copy of.
UNPACKED = ("gptq", "awq", "packed", "float8")


def quantized(models, folder, kind):
    """A tiny model that is stored as `kind`."""
    if kind == "mxfp4":
        return stored.in_mxfp4(folder)[0]
    if kind in UNPACKED:
        stored_codes.store(models("llama"), folder / "stored", kind)
        return folder / "stored"
    if kind == "fp8":
        return stored.in_fp8(models("llama"), folder / "stored")
    return stored.by_bitsandbytes(models("llama"), folder / "stored", int(kind[0]))


def in_full(model):
    """The tensors of the model in the folder `model` as transformers dequantizes them."""
    import transformers

    config = json.loads((model / "config.json").read_text())["quantization_config"]
    options = {}
    if config["quant_method"] == "mxfp4":
        options["quantization_config"] = transformers.Mxfp4Config(dequantize=True)
    if config["quant_method"] == "fp8":
        options["quantization_config"] = transformers.FineGrainedFP8Config(dequantize=True)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32, **options)
    if config["quant_method"] == "bitsandbytes":
        loaded.dequantize()
    return loaded.state_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_has_the_values_that_transformers_reads(models, tmp_path, kind):
    model = quantized(models, tmp_path, kind)
    spec = read_spec(jobs.make(tmp_path / "job", model))
    shares = []
    copy = full_precision.directory(spec, shares.append)
    assert shares[-1] == 1 and full_precision.directory(spec) == copy
    assert "quantization_config" not in json.loads((copy / "config.json").read_text())
    assert (copy / "tokenizer.json").is_file() and not (copy / "tokenizer.json").is_symlink()
    found, expected = load_file(copy / "model.safetensors"), in_full(model)
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert torch.equal(found[name].bfloat16(), value.bfloat16()), name
    full_precision.remove_copy(spec.folder)
    assert not copy.exists()


def test_plain_weights_need_no_copy(models, tmp_path):
    spec = read_spec(jobs.make(tmp_path / "job", models("llama")))
    assert full_precision.directory(spec) == models("llama")


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if kind in ("fp8", "gptq") else [pytest.mark.long])
        for kind in (*KINDS, *UNPACKED)
    ],
)
def test_it_trains_and_makes_a_gguf(models, tmp_path, kind):
    top = {"export": {"quantizations": ["F16"], "required": True}, "tools": export_fixture.TOOLS}
    model = quantized(models, tmp_path, kind)
    spec = jobs.make(tmp_path / "job", model, top=top, num_train_epochs=1)
    jobs.forked(spec)
    done = jobs.journal(spec)[-1]
    assert done["type"] == "done" and done["export"]["state"] == "done", done
    assert list((tmp_path / "job" / "artifacts").glob("*F16.gguf"))
    assert not (tmp_path / "job" / full_precision.FOLDER).exists()
