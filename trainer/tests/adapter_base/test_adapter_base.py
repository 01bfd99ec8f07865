"""An adapter becomes the model that PEFT makes of it and its base, bit for bit."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from trainer.adapter_base import make
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import Adapter, read_spec
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped
from trainer.tests import export_fixture, jobs, tiny
from trainer.tests.architectures import toys


def job_of(adapter: Path, base: Path, folder: Path, cache: Path) -> JobContext:
    """A job that trains the adapter merged into its base, with the folder that the service names."""
    named = {"path": str(adapter), "base": str(base), "base_path": str(base)}
    model = {"name": str(adapter), "path": str(cache / make.key_of(Adapter(**named))), "adapter": named}
    return JobContext.open(read_spec(jobs.make(folder, base, top={"model": model}, max_steps=1)))


def stored(folder: Path) -> dict[str, Any]:
    """The tensors in the weight files of a model's folder."""
    from safetensors.torch import load_file

    return {
        name: tensor for file in folder.glob("model*.safetensors") for name, tensor in load_file(file).items()
    }


def merged_by_peft(base: Path, adapter: Path) -> dict[str, Any]:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    return PeftModel.from_pretrained(model, adapter).merge_and_unload().state_dict()


def as_bfloat16(base: Path, folder: Path) -> Path:
    """The model in `base`, stored in bfloat16 and in several files."""
    import torch
    from transformers import AutoModelForCausalLM

    shutil.copytree(base, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="100KB")
    return folder


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A base in bfloat16 and an adapter of it."""
    folder = tmp_path_factory.mktemp("llama")
    base = as_bfloat16(tiny.build("llama", folder / "base", "chatml"), folder / "base16")
    export_fixture.make_adapter(base, folder / "adapter")
    return base, folder / "adapter"


KINDS = {
    "llama": {},
    "llama-patterns": {"rank_pattern": {"q_proj": 2}, "alpha_pattern": {r"layers\.1\.mlp\.up_proj": 3}},
    "llama-rslora": {"use_rslora": True},
    "llama-dora": {"use_dora": True},
    "gpt2-dora": {
        "target_modules": ["c_attn", "c_proj", "c_fc"],
        "fan_in_fan_out": True,
        "use_dora": True,
    },
    "llama-whole-module": {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
    "gpt2": {"target_modules": ["c_attn", "c_proj", "c_fc"], "fan_in_fan_out": True},
    "gemma3": {"target_modules": "all-linear"},
}


@pytest.mark.parametrize("bits", [32, 16])
@pytest.mark.parametrize("name", KINDS)
def test_the_weights_are_those_of_peft(name, bits, tmp_path):
    import torch

    base = tiny.build(name.partition("-")[0], tmp_path / "base")
    if bits == 16:
        base = as_bfloat16(base, tmp_path / "base16")
    export_fixture.make_adapter(base, tmp_path / "adapter", **KINDS[name])
    job = job_of(tmp_path / "adapter", base, tmp_path / "job", tmp_path / "cache")
    make.make(job)
    wanted, before = merged_by_peft(base, tmp_path / "adapter"), stored(base)
    found = stored(Path(job.spec.model.path))
    assert found.keys() == before.keys()
    for tensor, value in found.items():
        assert value.dtype == before[tensor].dtype
        assert torch.equal(value, wanted[tensor].to(value.dtype)), tensor
    assert any(not torch.equal(value, before[tensor]) for tensor, value in found.items())
    lines = jobs.journal(job.folder / "spec.json", "phase")
    assert {line["phase"] for line in lines} == {"merge_base"}


@pytest.mark.parametrize("by_root", [False, True])
def test_changes_of_experts_are_those_of_peft(by_root, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM

    base = toys.build("mixtral", tmp_path / "base")
    model = AutoModelForCausalLM.from_pretrained(base)
    targets = [name for name, _ in model.named_parameters() if name.endswith(("gate_up_proj", "down_proj"))]
    options = {"target_modules": ["q_proj"], "target_parameters": targets, "use_rslora": by_root}
    export_fixture.make_adapter(base, tmp_path / "adapter", **options)
    job = job_of(tmp_path / "adapter", base, tmp_path / "job", tmp_path / "cache")
    make.make(job)
    # The library stores the experts together, the files apart.
    made = AutoModelForCausalLM.from_pretrained(job.spec.model.path, dtype=torch.float32).state_dict()
    wanted = merged_by_peft(base, tmp_path / "adapter")
    for name in targets:
        assert not torch.equal(made[name], model.state_dict()[name].float())
    for name, value in made.items():
        assert torch.allclose(value, wanted[name].to(value.dtype), rtol=1e-5, atol=1e-6), name


def test_it_is_made_once_and_anew_when_the_adapter_changes(llama, tmp_path):
    base, adapter = llama
    adapter = Path(shutil.copytree(adapter, tmp_path / "adapter"))
    job = job_of(adapter, base, tmp_path / "job", tmp_path / "cache")
    make.make(job)
    made = [path.stat().st_ino for path in sorted(Path(job.spec.model.path).iterdir())]
    make.make(job_of(adapter, base, tmp_path / "second", tmp_path / "cache"))
    assert made == [path.stat().st_ino for path in sorted(Path(job.spec.model.path).iterdir())]
    os.utime(adapter / "adapter_model.safetensors", (1, 1))
    assert (
        job_of(adapter, base, tmp_path / "third", tmp_path / "cache").spec.model.path != job.spec.model.path
    )
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(Failure, match="has changed since the start"):
        make.make(job)
    shutil.rmtree(adapter)
    with pytest.raises(Failure, match="no longer there"):
        make.make(job)


def test_the_adapter_s_own_tokenizer_and_template_come_first(llama, tmp_path):
    base, adapter = llama
    own = Path(shutil.copytree(adapter, tmp_path / "adapter"))

    def made(name: str) -> tuple[str, str]:
        folder = make.small_files(
            job_of(own, base, tmp_path / name, tmp_path / "cache").spec.model,
            base,
            tmp_path / f"{name}-files",
        )
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder)
        return tokenizer.chat_template, tokenizer.bos_token

    assert made("base's") == (tiny.CHATML, "<s>")
    (own / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    assert made("template") == ("{{ messages[0]['content'] }}", "<s>")
    (own / "chat_template.jinja").unlink()
    tokenizer = tiny.build_tokenizer()
    tokenizer.bos_token = "<mask>"
    tokenizer.save_pretrained(own)
    assert made("tokenizer") == (tiny.CHATML, "<mask>")
    tokenizer.chat_template = "{{ 'own' }}"
    tokenizer.save_pretrained(own)
    assert made("both") == ("{{ 'own' }}", "<mask>")


REFUSED = {
    "qalora": ({"use_qalora": True}, "it has QALoRA"),
    "pissa": ({"init_lora_weights": "pissa"}, "trained on changed weights"),
    "other kind": ({"peft_type": "IA3"}, "only LoRA can be"),
    "no scale": ({"lora_alpha": None}, "no lora_alpha"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_more_than_an_update_of_weights_is_refused(llama, tmp_path, name):
    base, adapter = llama
    changes, why = REFUSED[name]
    adapter = Path(shutil.copytree(adapter, tmp_path / "adapter"))
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes))
    job = job_of(adapter, base, tmp_path / "job", tmp_path / "cache")
    for work in (
        lambda: make.small_files(job.spec.model, base, tmp_path / "files"),
        lambda: make.make(job),
    ):
        with pytest.raises(Failure, match=why) as refused:
            work()
        assert "merge_and_unload" in refused.value.advice
    assert not any((tmp_path / "cache").glob("*"))


def test_what_does_not_fit_its_base_is_refused(llama, tmp_path):
    base, adapter = llama
    other = tiny.build("gpt2", tmp_path / "other")
    with pytest.raises(Failure, match="cannot be merged here") as refused:
        make.make(job_of(adapter, other, tmp_path / "job", tmp_path / "cache"))
    assert refused.value.code == "unsupported"
    config = json.loads((base / "config.json").read_text("utf-8"))
    quantized = Path(shutil.copytree(base, tmp_path / "quantized"))
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    (quantized / "config.json").write_text(json.dumps(config))
    with pytest.raises(Failure, match="stored quantized"):
        make.make(job_of(adapter, quantized, tmp_path / "third", tmp_path / "cache"))


def test_values_that_are_no_numbers_are_refused(llama, tmp_path):
    from safetensors.torch import load_file, save_file

    base, adapter = llama
    adapter = Path(shutil.copytree(adapter, tmp_path / "adapter"))
    factors = load_file(adapter / "adapter_model.safetensors")
    next(value for name, value in factors.items() if "lora_B" in name).fill_(float("nan"))
    save_file(factors, adapter / "adapter_model.safetensors")
    with pytest.raises(Failure, match="no numbers"):
        make.make(job_of(adapter, base, tmp_path / "job", tmp_path / "cache"))
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_link_out_of_the_adapter_is_refused(llama, tmp_path):
    base, adapter = llama
    own = Path(shutil.copytree(adapter, tmp_path / "adapter"))
    (own / "adapter_model.safetensors").unlink()
    (own / "adapter_model.safetensors").symlink_to(adapter / "adapter_model.safetensors")
    with pytest.raises(Failure, match="leads out"):
        make.make(job_of(own, base, tmp_path / "job", tmp_path / "cache"))


def test_a_stop_leaves_nothing(llama, tmp_path):
    base, adapter = llama
    job = job_of(adapter, base, tmp_path / "job", tmp_path / "cache")
    looks = iter(range(100))

    def stop_at_the_tenth() -> None:
        if next(looks) == 10:
            raise Stopped

    job.stop.raise_if_requested = stop_at_the_tenth
    with pytest.raises(Stopped):
        make.make(job)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_training_begins_at_the_merged_weights(llama, tmp_path):
    """The first loss is that of the base with the adapter, and the new adapter names what it fits."""
    base, adapter = llama
    job = job_of(adapter, base, tmp_path / "job", tmp_path / "cache")
    spec = job.folder / "spec.json"
    assert jobs.forked(spec) == 0, jobs.journal(spec)[-1]
    plain = jobs.make(tmp_path / "plain", job.spec.model.path, max_steps=1)
    assert jobs.forked(plain) == 0
    assert jobs.losses(spec) == jobs.losses(plain)
    unmerged = jobs.make(tmp_path / "unmerged", base, max_steps=1)
    assert jobs.forked(unmerged) == 0
    assert jobs.losses(spec) != jobs.losses(unmerged)
    config = json.loads((job.folder / "artifacts/adapter/adapter_config.json").read_text("utf-8"))
    assert config["base_model_name_or_path"] == job.spec.model.path
