"""A GGUF becomes the model that it was made of: tokens, configuration, weights and logits."""

import json
import os
import shutil
from pathlib import Path

import pytest

from trainer.export.gguf.header import read_header
from trainer.gguf_base import make
from trainer.gguf_base.proof import prove
from trainer.gguf_base.tokens import check_tokens
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import GGUF_ARCHITECTURES, read_spec
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped
from trainer.tests.architectures import toys
from trainer.tests.export_fixture import CONVERTER, TOOLS, sentencepiece_tokenizer
from trainer.tests.gguf_base.toy_gguf import write_gguf

# Each of llama.cpp's architectures, by a toy of it.
TOYS = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma2": "gemma2",
    "gemma3": "gemma3",
    "phi3": "phi3",
    "starcoder2": "starcoder2",
    "gpt2": "gpt2",
    "bloom": "bloom",
    "lfm2": "lfm2",
    "mamba": "mamba",
    "nemotron": "nemotron",
    "stablelm": "stablelm",
    "qwen2-moe": "qwen2moe",
    "qwen3-moe": "qwen3moe",
    "gpt-oss": "gpt-oss",
    "gemma": "gemma",
    "gemma4": "gemma4",
    "gemma4-31b": "gemma4",
    "gemma4-moe": "gemma4",
    "falcon-7b": "falcon",
    "falcon-40b": "falcon",
}
# Those that have what the others have not: experts, in two ways, and layers of different sizes.
QUICK = ("qwen3-moe", "gpt-oss", "gemma4")


def job_of(gguf: Path, folder: Path, cache: Path) -> JobContext:
    """A job that trains the GGUF, with the folder that the service names."""
    folder.mkdir()
    rows = folder / "dataset.jsonl"
    rows.write_text(json.dumps({"input": "Where is my order 482?", "output": "team: shipping"}) + "\n")
    golden = Path(__file__).parents[3] / "test" / "contract" / "spec.golden.json"
    spec = json.loads(golden.read_text("utf-8"))
    spec |= {
        "job_dir": str(folder),
        "model": {"name": str(gguf), "path": str(cache / make.key_of(gguf)), "gguf": str(gguf)},
        "dataset": {"name": "rows.jsonl", "path": str(rows), "rows": 1, "shape": "input-output"},
        "tools": {**spec["tools"], **TOOLS},
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    return JobContext.open(read_spec(folder / "spec.json"))


def logits(folder: Path):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    ids = torch.randint(10, 400, (1, 80), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return model.eval()(ids).logits


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """The GGUF of a toy, and the folder that is made of it."""
    folder = tmp_path_factory.mktemp("llama")
    gguf = write_gguf(toys.build("llama", folder / "base"), folder / "toy.gguf")
    job = job_of(gguf, folder / "job", folder / "cache")
    make.make(job)
    return gguf, Path(job.spec.model.path)


def test_the_folder_is_the_model(llama, tmp_path):
    gguf, folder = llama
    assert (logits(gguf.parent / "base") - logits(folder)).abs().max() == 0
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    assert "<|im_start|>" in config["chat_template"]
    assert config["eos_token"] == "<|im_end|>"
    made = (folder / "model.safetensors").stat().st_ino
    make.make(job_of(gguf, tmp_path / "job", folder.parent))
    assert (folder / "model.safetensors").stat().st_ino == made, "it is not made again"


def test_every_architecture_has_a_toy():
    assert set(TOYS.values()) == set(GGUF_ARCHITECTURES)


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in TOYS if name not in QUICK)]
)
def test_every_architecture_comes_back(name, tmp_path):
    gguf = write_gguf(toys.build(name, tmp_path / "base"), tmp_path / "toy.gguf")
    assert read_header(gguf).architecture == TOYS[name]
    job = job_of(gguf, tmp_path / "job", tmp_path / "cache")
    make.make(job)
    assert (logits(tmp_path / "base") - logits(Path(job.spec.model.path))).abs().max() == 0


@pytest.mark.parametrize(
    ("name", "kind", "model"),
    [("gemma2", "gemma2", "llama"), ("llama", "mistral-sp", "llama"), ("gemma4", "gemma2", "gemma4")],
)
def test_sentencepiece_vocabularies_come_back(name, kind, model, tmp_path):
    base = toys.build(name, tmp_path / "base")
    for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (base / file).unlink(missing_ok=True)
    sentencepiece_tokenizer(base, kind).save_pretrained(base)
    gguf = write_gguf(base, tmp_path / "toy.gguf", "Q8_0")
    assert read_header(gguf).tokenizer("model") == model
    job = job_of(gguf, tmp_path / "job", tmp_path / "cache")
    make.make(job)
    folder = Path(job.spec.model.path)
    assert (folder / "tokenizer.model").is_file() == (model == "llama")


def test_another_tokenizer_is_refused_with_an_example(llama, tmp_path):
    gguf, folder = llama
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    document = json.loads((copy / "tokenizer.json").read_text("utf-8"))
    document["pre_tokenizer"]["pretokenizers"].insert(0, {"type": "Digits", "individual_digits": True})
    document["model"]["merges"] = document["model"]["merges"][:50]
    (copy / "tokenizer.json").write_text(json.dumps(document))
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "Where is my order 482?"}\n')
    with pytest.raises(Failure) as refused:
        check_tokens(read_header(gguf), copy, rows, TOOLS["score"], lambda: None)
    assert refused.value.code == "bad_tokenizer"
    assert "in llama.cpp" in refused.value.evidence


def _theta(config: dict) -> None:
    config["rope_parameters"]["rope_theta"] = 500_000.0


def _epsilon(config: dict) -> None:
    config["rms_norm_eps"] = 1e-3


@pytest.mark.parametrize(
    ("change", "word"), [(_theta, "rope.freq_base"), (_epsilon, "layer_norm_rms_epsilon")]
)
def test_another_configuration_is_refused(llama, tmp_path, change, word):
    gguf, folder = llama
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    config = json.loads((copy / "config.json").read_text("utf-8"))
    change(config)
    (copy / "config.json").write_text(json.dumps(config))
    (tmp_path / "scratch").mkdir()
    with pytest.raises(Failure, match=word):
        prove(read_header(gguf), copy, CONVERTER, tmp_path / "scratch", lambda share: None)


@pytest.mark.parametrize("name", ["self_attn.q_proj", "self_attn.k_proj", "mlp.up_proj", "input_layernorm"])
def test_another_tensor_is_refused(llama, tmp_path, name):
    from safetensors.torch import load_file, save_file

    gguf, folder = llama
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    tensors = load_file(copy / "model.safetensors")
    key = f"model.layers.1.{name}.weight"
    # Two heads, or two rows or values, are swapped.
    half = tensors[key].shape[0] // 2
    tensors[key] = tensors[key].roll(half, 0).contiguous()
    save_file(tensors, copy / "model.safetensors", {"format": "pt"})
    (tmp_path / "scratch").mkdir()
    with pytest.raises(Failure, match=r"blk\.1\..* would have other values"):
        prove(read_header(gguf), copy, CONVERTER, tmp_path / "scratch", lambda share: None)


def test_a_stop_and_a_changed_file_leave_nothing(llama, tmp_path):
    gguf = Path(shutil.copy2(llama[0], tmp_path / "toy.gguf"))
    cache = tmp_path / "cache"
    job = job_of(gguf, tmp_path / "job", cache)
    job.stop.raise_if_requested = _stop_later(job.stop.raise_if_requested)
    with pytest.raises(Stopped):
        make.make(job)
    assert list(cache.iterdir()) == []
    os.utime(gguf, (1, 1))
    job = job_of(gguf, tmp_path / "other", cache)
    os.utime(gguf, (2, 2))
    with pytest.raises(Failure, match="has changed since the start"):
        make.make(job)
    gguf.unlink()
    with pytest.raises(Failure, match="no longer there"):
        make.make(job)


def _stop_later(look):
    """A stop that is requested at the twentieth look, in the middle of the work."""
    looks = 0

    def raise_if_requested() -> None:
        nonlocal looks
        looks += 1
        if looks > 20:
            raise Stopped
        look()

    return raise_if_requested


@pytest.mark.parametrize("length", [3, 40, 4000])
def test_a_torn_file_is_refused(llama, tmp_path, length):
    torn = tmp_path / "torn.gguf"
    torn.write_bytes(llama[0].read_bytes()[:length])
    with pytest.raises(Failure) as refused:
        read_header(torn)
    assert refused.value.code == "bad_model"


def test_a_file_that_lacks_a_tensor_is_refused(llama):
    from trainer.gguf_base.configuration import make_config
    from trainer.gguf_base.weights import plan_weights

    header = read_header(llama[0])
    place = header.tensors.pop("blk.1.ffn_up.weight")
    header.tensors["blk.1.strange.weight"] = place
    with pytest.raises(Failure, match=r"has blk\.1\.strange\.weight.*lacks model\.layers\.1\.mlp\.up_proj"):
        plan_weights(header, make_config(header))


@pytest.mark.parametrize(("name", "part"), [("qwen3-moe", "up"), ("gpt-oss", "gate"), ("qwen3-moe", "down")])
def test_experts_that_lack_a_matrix_are_refused(tmp_path, name, part):
    from trainer.gguf_base.configuration import make_config
    from trainer.gguf_base.weights import plan_weights

    header = read_header(write_gguf(toys.build(name, tmp_path / "base"), tmp_path / "toy.gguf"))
    del header.tensors[f"blk.1.ffn_{part}_exps.weight"]
    with pytest.raises(Failure, match="is not the whole model of its architecture"):
        plan_weights(header, make_config(header))


@pytest.mark.parametrize(
    ("name", "field"),
    [("gemma4", "gemma4.attention.sliding_window_pattern"), ("lfm2", "lfm2.attention.head_count_kv")],
)
def test_a_file_that_lacks_a_parameter_is_refused(tmp_path, name, field):
    from trainer.gguf_base.configuration import make_config

    header = read_header(write_gguf(toys.build(name, tmp_path / "base"), tmp_path / "toy.gguf"))
    del header.metadata[field]
    with pytest.raises(Failure, match="lacks parameters") as refused:
        make_config(header)
    assert refused.value.code == "bad_model"
