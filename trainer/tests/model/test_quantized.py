"""Weights that are stored quantized are loaded as what they are, or refused."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from trainer.export import full_precision
from trainer.model.quantization import packed, quantized
from trainer.protocol.contracts import read_spec
from trainer.protocol.failures import Failure
from trainer.tests import jobs, tiny
from trainer.tests.model import stored_codes

WORDS = torch.tensor([[5, 9, 30, 44, 100, 12, 31]])


def configured(folder, **config):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))


def by_bitsandbytes(source, folder, bits):
    """The model in `source` as bitsandbytes stores it."""
    import transformers

    config = (
        transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
        if bits == 4
        else transformers.BitsAndBytesConfig(load_in_8bit=True)
    )
    shutil.copytree(source, folder)
    transformers.AutoModelForCausalLM.from_pretrained(source, quantization_config=config).save_pretrained(
        folder
    )
    return folder


def in_fp8(source, folder, block=32):
    """The model in `source` as Qwen and DeepSeek publish FP8: codes, and a scale for each block."""
    shutil.copytree(source, folder)
    stored = {}
    for name, value in load_file(source / "model.safetensors").items():
        if "proj" not in name:
            stored[name] = value
            continue
        rows, columns = (size // block for size in value.shape)
        blocks = value.reshape(rows, block, columns, block)
        scale = blocks.abs().amax(dim=(1, 3)) / 448
        codes = (blocks / scale[:, None, :, None]).reshape(value.shape)
        stored[name] = codes.to(torch.float8_e4m3fn)
        stored[f"{name}_scale_inv"] = scale
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    fp8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}
    configured(folder, quantization_config={**fp8, "weight_block_size": [block, block]})
    return folder


def in_mxfp4(folder):
    """A tiny gpt-oss as it is published: experts in blocks of 32 codes with a power of two each. Returns the
    folders of it, and of the same values in float32."""
    import transformers

    tokenizer = tiny.build_tokenizer()
    tokenizer.model_max_length = 256
    config = transformers.GptOssConfig(
        **tiny.decoder_shape(tokenizer, head_dim=16, intermediate_size=64),
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=64,
        layer_types=["sliding_attention", "full_attention"],
    )
    torch.manual_seed(7)
    plain, packed = folder / "plain", folder / "mxfp4"
    transformers.GptOssForCausalLM(config).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    shutil.copytree(plain, packed)
    tensors = load_file(plain / "model.safetensors")
    codes = dict(tensors)
    for name, value in tensors.items():
        if not name.endswith(("gate_up_proj", "down_proj")):
            continue
        experts, inputs, outputs = value.shape
        # Stored by output, in blocks along the inputs.
        number = torch.randint(0, 16, (experts, outputs, inputs // 32, 32))
        power = torch.randint(-5, -2, (experts, outputs, inputs // 32))
        tensors[name] = (
            (stored_codes.FP4[number] * torch.exp2(power)[..., None]).flatten(2).transpose(1, 2).contiguous()
        )
        del codes[name]
        codes[f"{name}_blocks"] = (number[..., 0::2] | number[..., 1::2] << 4).to(torch.uint8)
        codes[f"{name}_scales"] = (power + 127).to(torch.uint8)
    save_file(tensors, plain / "model.safetensors", metadata={"format": "pt"})
    save_file(codes, packed / "model.safetensors", metadata={"format": "pt"})
    configured(packed, quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})
    return packed, plain


def logits(folder, **options):
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options).eval()
    with torch.no_grad():
        return model(WORDS).logits.float()


def base_of(spec):
    """The base model as a training of the job loads it."""
    from trainer.data.job import Job
    from trainer.model.hardware import choose
    from trainer.model.view import make_view
    from trainer.protocol.context import JobContext
    from trainer.protocol.contracts import read_spec
    from trainer.protocol.heartbeat import Heartbeat
    from trainer.protocol.journal import Journal
    from trainer.protocol.stop import Stop
    from trainer.registry import create

    read = read_spec(str(spec))
    context = JobContext(read, Journal(read.folder), Heartbeat(read.folder), Stop(read.folder))
    parts = {kind: create(kind, getattr(read, kind)) for kind in ("task", "strategy", "provider")}
    job = Job(**vars(context), **parts, resume=None)
    job.model_dir = make_view(read.folder.parent / "model", read.folder / "view")
    job.config = json.loads((job.model_dir / "config.json").read_text())
    return job.provider.base(job, choose(job.settings, job.config), "AutoModelForCausalLM")


def trains_on_what_is_stored(tmp_path, model, expected, tolerance):
    """Trains three steps, and compares the base that a training has with the `expected` logits."""
    shutil.move(model, tmp_path / "model")
    spec = jobs.make(tmp_path / "job", tmp_path / "model", num_train_epochs=2)
    with torch.no_grad():
        found = base_of(spec)(WORDS).logits.float()
    assert (found - expected).abs().max() <= tolerance
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    losses = list(jobs.losses(spec).values())
    assert losses[-1] < losses[0] - 0.3, "nothing was learned"


@pytest.mark.parametrize("bits", [4, 8])
def test_bitsandbytes_is_trained_as_it_is_stored(models, tmp_path, bits):
    model = by_bitsandbytes(models("llama"), tmp_path / "stored", bits)
    # The first product of four bits without a gradient is computed in bfloat16.
    trains_on_what_is_stored(tmp_path, model, logits(model), 0.02)


def test_fp8_becomes_full_precision(models, tmp_path):
    model = in_fp8(models("llama"), tmp_path / "stored")
    # A mantissa of three bits: each weight is off by up to 1/16 of itself.
    trains_on_what_is_stored(tmp_path, model, logits(models("llama")), 0.1)


def test_mxfp4_becomes_full_precision(tmp_path):
    packed, plain = in_mxfp4(tmp_path)
    # The library keeps the experts, which bfloat16 holds exactly, and computes them in it.
    trains_on_what_is_stored(tmp_path, packed, logits(plain), 0.02)


@pytest.mark.parametrize("kind", stored_codes.KINDS)
def test_codes_of_other_packages_become_their_values(models, tmp_path, kind):
    """The values were compared with those of gptqmodel 7.5.0 (but for "gptq in order") and of
    compressed-tensors 0.18.0, and 0.15.0 for what was packed before 0.17: bit for bit."""
    values = stored_codes.store(models("llama"), tmp_path / "stored", kind)
    spec = read_spec(jobs.make(tmp_path / "job", tmp_path / "stored"))
    copy = full_precision.directory(spec)
    found = load_file(copy / "model.safetensors")
    assert set(found) == set(values)
    for name, value in values.items():
        assert torch.equal(found[name], value), name
    assert "quantization_config" not in json.loads((copy / "config.json").read_text())


@pytest.mark.parametrize(
    "kind",
    ["gptq", pytest.param("awq", marks=pytest.mark.long), pytest.param("packed", marks=pytest.mark.long)],
)
def test_they_are_trained_from_their_values(models, tmp_path, kind):
    values = stored_codes.store(models("llama"), tmp_path / "model", kind)
    spec = jobs.make(tmp_path / "job", tmp_path / "model", num_train_epochs=2)
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    losses = list(jobs.losses(spec).values())
    assert losses[-1] < losses[0] - 0.3, "nothing was learned"
    # The first loss is that of the values.
    plain = shutil.copytree(models("llama"), tmp_path / "plain" / "model")
    save_file(values, plain / "model.safetensors", metadata={"format": "pt"})
    other = jobs.make(tmp_path / "plain" / "job", plain, num_train_epochs=2)
    assert jobs.train(other) == 0
    assert list(jobs.losses(other).values()) == losses
    assert not (tmp_path / "job" / full_precision.FOLDER).exists()


def test_a_malformed_model_is_refused_and_nothing_of_its_copy_is_left(models, tmp_path):
    stored_codes.store(models("llama"), tmp_path / "model", "gptq")
    path = tmp_path / "model" / "model.safetensors"
    tensors = load_file(path)
    del tensors["model.layers.1.mlp.up_proj.qzeros"]
    save_file(tensors, path, metadata={"format": "pt"})
    spec = jobs.make(tmp_path / "job", tmp_path / "model")
    assert jobs.train(spec) == 1
    last = jobs.journal(spec)[-1]
    assert last["code"] == "bad_model" and "model.layers.1.mlp.up_proj.qzeros is absent" in last["message"]
    assert not list((tmp_path / "job").glob("full-precision*"))


def test_the_last_block_of_an_axis_may_be_smaller():
    """DeepSeek's kv_a_proj_with_mqa has 576 rows in blocks of 128."""
    scales = torch.arange(1.0, 6.0)[:, None]
    rows = packed.spread(scales, (576, 8), [128], "x").expand(576, 8)[:, 0]
    assert rows.tolist() == [1.0 + at // 128 for at in range(576)]
    with pytest.raises(Failure, match="576 values in 5 blocks"):
        packed.spread(scales, (576, 8), [], "x")


MARLIN = {"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}


@pytest.mark.parametrize(
    ("stored", "code", "words"),
    [
        ({"quant_method": "hqq"}, "dependency_missing", "not installed: hqq"),
        ({"quant_method": "bitnet"}, "unsupported", "(bitnet)"),
        ({"quant_method": "exl2"}, "unsupported", "(exl2)"),
        (MARLIN, "unsupported", "(gptq) in the form marlin; Hone reads gptq, gptq_v2"),
        ({"quant_method": "awq", "version": "gemv"}, "unsupported", "(awq) in the form gemv; Hone reads"),
        (
            {**stored_codes.compressed("pack-quantized"), "sparsity_config": {"format": "sparse-24-bitmask"}},
            "unsupported",
            "in the form sparse-24-bitmask",
        ),
        (
            {
                **stored_codes.compressed("pack-quantized"),
                "transform_config": {"config_groups": {"R1": {"type": "hadamard"}}},
            },
            "unsupported",
            "in the form transformed",
        ),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_what_is_lacking(models, tmp_path, stored, code, words):
    if quantized.PACKAGES.get(stored["quant_method"]) and quantized.why_not(stored["quant_method"]) is None:
        # Then the library loads such a model, and there is nothing to refuse.
        pytest.skip("its packages are installed")
    model = shutil.copytree(models("llama"), tmp_path / "model")
    configured(model, quantization_config=stored)
    spec = jobs.make(tmp_path / "job", model, max_steps=1)
    assert jobs.train(spec) == 1
    last = jobs.journal(spec)[-1]
    assert last["code"] == code and words in last["message"], last
    assert "16-bit version" in last["advice"]


def test_weights_are_not_quantized_twice(models, tmp_path):
    model = in_fp8(models("llama"), tmp_path / "model")
    spec = jobs.make(tmp_path / "job", model, max_steps=1, use_4bit=True)
    assert jobs.train(spec) == 1
    assert "a second time: they are stored quantized (fp8)" in jobs.journal(spec)[-1]["message"]
