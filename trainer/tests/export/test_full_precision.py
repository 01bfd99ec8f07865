"""An adapter of a model whose weights are stored quantized is merged into their values in full precision."""

import json
import shutil

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from trainer.export import full_precision
from trainer.model.quantization.quantized import bits_of
from trainer.model.view import make_view
from trainer.protocol.contracts import read_spec
from trainer.protocol.failures import Failure
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
    if kind in stored_codes.KINDS:
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


def test_the_copy_is_written_tensor_by_tensor(models, tmp_path):
    """A whole file of a large model does not fit into memory."""
    folder = make_view(quantized(models, tmp_path, "gptq"), tmp_path / "view")
    path, sizes = folder / "model.safetensors", []
    full_precision.dequantize(
        folder, lambda share: sizes.append(0 if path.is_symlink() else path.stat().st_size)
    )
    # Python 3.14 writes 128 KiB at a time.
    assert len(set(sizes)) > 3 and sizes[-1] > path.stat().st_size / 2
    assert list(load_file(path)), "it can be read"


def test_codes_without_scales_are_refused(models, tmp_path):
    model = quantized(models, tmp_path, "fp8")
    tensors = load_file(model / "model.safetensors")
    del tensors["model.layers.0.mlp.up_proj.weight_scale_inv"]
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(Failure, match=r"layers\.0\.mlp\.up_proj.* its scales are absent") as failed:
        full_precision.directory(read_spec(jobs.make(tmp_path / "job", model)))
    assert failed.value.code == "bad_model"


def test_plain_weights_need_no_copy(models, tmp_path):
    spec = read_spec(jobs.make(tmp_path / "job", models("llama")))
    assert full_precision.directory(spec) == models("llama")


@pytest.mark.parametrize("kind", (*KINDS, *stored_codes.KINDS))
def test_the_size_of_the_copy_is_known_before(models, tmp_path, kind):
    model = quantized(models, tmp_path, kind)
    copy = full_precision.directory(read_spec(jobs.make(tmp_path / "job", model)))
    actual = sum(tensor.nbytes for tensor in load_file(copy / "model.safetensors").values())
    bits = bits_of(json.loads((model / "config.json").read_text()))
    with safe_open(model / "model.safetensors", framework="pt") as file:
        assert 1 <= full_precision.full_bytes(file, bits) / actual < 1.2


@pytest.mark.parametrize(("kind", "advised"), [("gptq", False), ("fp8", True)])
def test_a_copy_that_does_not_fit_is_refused_with_what_helps(models, tmp_path, kind, advised):
    model = quantized(models, tmp_path, kind)
    disk = json.loads(jobs.GOLDEN.read_text())["disk"]
    top = {"disk": {**disk, "spare_bytes": 10**18}}
    with pytest.raises(Failure, match="base model in full precision") as failed:
        full_precision.directory(read_spec(jobs.make(tmp_path / "job", model, top=top)))
    assert failed.value.code == "disk_full"
    assert ("export to none" in failed.value.advice) is advised


def test_answering_leaves_a_full_disk_alone(models, tmp_path, monkeypatch):
    """The playground dequantizes a view of its own."""
    folder = make_view(quantized(models, tmp_path, "gptq"), tmp_path / "view")
    free = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    with pytest.raises(Failure, match="are free") as failed:
        full_precision.dequantize(folder)
    assert failed.value.code == "disk_full"
    assert (folder / "model.safetensors").is_symlink(), "nothing was written"


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
