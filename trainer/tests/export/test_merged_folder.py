"""The merged folder and the adapter's GGUF of a finished model, as transformers and llama.cpp read them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from trainer.export.gguf.header import read_header
from trainer.export.kept import REFERENCE
from trainer.export.merge import trained
from trainer.export.merge.weights import index_checkpoint
from trainer.export.merged_folder import check
from trainer.export.merged_folder.weights import stored_types, write_weights
from trainer.export.verification import reference
from trainer.protocol.failures import Failure
from trainer.tests import export_fixture, jobs
from trainer.tests.architectures import toys, whole_models
from trainer.tests.export.test_again import again, command, names
from trainer.tests.export.test_export_run import make_job
from trainer.tests.tiny import sentences


def finished(folder: Path, base: Path, **adapter: Any) -> tuple[Path, Path]:
    """A specification and the folder of its model, which has an adapter and no files."""
    spec = make_job(folder / "job", base, [], **adapter)
    model, alone = folder / "model", folder / "spec.json"
    os.rename(spec.parent / "artifacts", model)
    shutil.copy(spec, alone)
    shutil.rmtree(spec.parent)
    return alone, model


def make_base(kind: str, folder: Path, dtype: torch.dtype) -> Path:
    """A tiny base of `kind` with weights of this type."""
    made = toys.build if kind.endswith("moe") else export_fixture.make_base
    base = made(kind, folder, template="chatml")
    if dtype != torch.float32:
        AutoModelForCausalLM.from_pretrained(base, dtype=dtype).save_pretrained(base)
    return base


def merged_by_peft(base: Path, model: Path, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Its tensors, merged in float32 and rounded once."""
    loaded = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    return PeftModel.from_pretrained(loaded, model / "adapter").merge_and_unload().to(dtype).state_dict()


# A base in 32 bits becomes bfloat16; tied embeddings; experts, each in tensors of its own.
@pytest.mark.parametrize(
    ("kind", "dtype", "wanted"),
    [
        ("llama", torch.float32, torch.bfloat16),
        ("llama", torch.float16, torch.float16),
        ("qwen3", torch.bfloat16, torch.bfloat16),
        ("qwen3-moe", torch.bfloat16, torch.bfloat16),
    ],
)
def test_the_folder_loads_in_transformers_as_what_peft_merges(
    tmp_path: Path, kind: str, dtype: torch.dtype, wanted: torch.dtype
) -> None:
    base = make_base(kind, tmp_path / "base", dtype)
    options = {"target_modules": ["q_proj", "v_proj"]} if "moe" in kind else {}
    spec, model = finished(tmp_path, base, **options)
    before = names(model)
    status, lines = again(spec, model, "", "--merged")
    assert status == 0, lines[-1]
    assert lines[-1]["export"]["forms"] == [{"form": "merged", "state": "done", "reason": None}]
    assert (lines[-1]["export"]["files"], lines[-1]["verification"]) == ([], None)
    assert names(model) == before | {"merged"}
    folder = model / "merged"
    (artifact,) = [line["artifact"] for line in lines if "artifact" in line]
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert artifact == {"kind": "merged", "path": "merged", "bytes": size, "quantization": None}

    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert loaded.dtype == wanted
    own = loaded.state_dict()
    by_peft = merged_by_peft(base, model, wanted)
    assert own.keys() == by_peft.keys()
    for name, tensor in own.items():
        assert torch.equal(tensor, by_peft[name]), name
    if kind == "qwen3":
        assert loaded.get_input_embeddings().weight is loaded.get_output_embeddings().weight

    tokenizer, trained_with = AutoTokenizer.from_pretrained(folder), model / "template.json"
    talk = export_fixture.CONVERSATIONS[1]
    assert tokenizer.chat_template == json.loads(trained_with.read_text("utf-8"))["chat_template"]
    assert tokenizer.apply_chat_template(talk) == AutoTokenizer.from_pretrained(
        model / "adapter"
    ).apply_chat_template(talk)
    ends = loaded.generation_config.eos_token_id
    assert tokenizer.convert_tokens_to_ids("<|im_end|>") in (ends if isinstance(ends, list) else [ends])
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert config["dtype"] == str(wanted).removeprefix("torch.")
    text = (folder / "README.md").read_text("utf-8")
    assert all(word in text for word in ("from_pretrained", "vllm serve", "mlx_lm.generate"))
    # What readers of each shall run is complete.
    assert "{" not in text.split("-d '")[0].split("messages =")[0]


def test_all_weights_of_a_whole_model_are_written_in_16_bits(tmp_path: Path) -> None:
    base = make_base("llama", tmp_path / "base", torch.float32)
    spec, model = finished(tmp_path, base)
    whole = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), model / "adapter")
    shutil.rmtree(model / "adapter")
    whole.merge_and_unload().save_pretrained(model / "adapter")
    AutoTokenizer.from_pretrained(base).save_pretrained(model / "adapter")
    status, lines = again(spec, model, "", "--merged", "--adapter-gguf")
    assert status == 0
    made, refused = sorted(lines[-1]["export"]["forms"], key=lambda form: form["state"])
    assert (made["form"], refused["form"]) == ("merged", "adapter_gguf")
    assert "all of its weights were trained" in refused["reason"] and "merged weights" in refused["reason"]
    stored = load_file(model / "adapter" / "model.safetensors")
    for name, tensor in load_file(model / "merged" / "model.safetensors").items():
        assert torch.equal(tensor, stored[name].bfloat16()), name


def test_a_multimodal_base_stays_whole(tmp_path: Path) -> None:
    base = whole_models.build("gemma3-vision", tmp_path / "base")
    rows = [{"input": text, "output": reply} for text, reply in sentences(12)]
    spec = jobs.make(
        tmp_path / "job", base, rows, top={"tools": export_fixture.TOOLS}, max_steps=2, warmup_ratio=0
    )
    assert jobs.train(spec) == 0, jobs.journal(spec)[-1]
    model = tmp_path / "model"
    os.rename(spec.parent / "artifacts", model)
    status, lines = again(spec, model, "", "--merged")
    assert status == 0 and lines[-1]["export"]["forms"][0]["state"] == "done", lines[-1]
    folder = model / "merged"
    loaded, report = AutoModelForImageTextToText.from_pretrained(
        folder, dtype="auto", output_loading_info=True
    )
    assert type(loaded).__name__ == "Gemma3ForConditionalGeneration"
    assert not report["missing_keys"] and not report["unexpected_keys"]
    own, other = (load_file(path / "model.safetensors") for path in (folder, base))
    assert own.keys() == other.keys()
    changed = {name for name in own if not torch.equal(own[name], other[name].bfloat16())}
    assert changed and not any("vision" in name for name in changed)
    assert (folder / "preprocessor_config.json").read_bytes() == (
        base / "preprocessor_config.json"
    ).read_bytes()
    assert "AutoModelForImageTextToText" in (folder / "README.md").read_text("utf-8")


def test_large_weights_are_divided_into_files(tmp_path: Path) -> None:
    base = make_base("qwen3", tmp_path / "base", torch.float32)
    spec, model = finished(tmp_path, base)
    assert again(spec, model, "", "--merged")[0] == 0
    config = json.loads((base / "config.json").read_text("utf-8"))
    tensors, adapter = trained.read(model / "adapter", base, config)
    folder, limit = tmp_path / "divided", 100_000
    shutil.copytree(model / "merged", folder)
    (folder / "model.safetensors").unlink()
    told: list[float] = []
    write_weights(tensors, adapter, stored_types(index_checkpoint(base)), folder, told.append, limit)
    files = sorted(folder.glob("model-*.safetensors"))
    assert len(files) > 2 and files[0].name == f"model-00001-of-{len(files):05}.safetensors"
    assert told == sorted(told) and told[-1] == 1
    for path in files:
        stored = load_file(path)
        size = sum(tensor.nbytes for tensor in stored.values())
        assert size <= limit or len(stored) == 1
    index = json.loads((folder / "model.safetensors.index.json").read_text("utf-8"))
    assert set(index["weight_map"]) == set(tensors)
    whole, divided = (
        AutoModelForCausalLM.from_pretrained(path, dtype="auto").state_dict()
        for path in (model / "merged", folder)
    )
    assert all(torch.equal(tensor, divided[name]) for name, tensor in whole.items())


def test_wrong_weights_and_wrong_configurations_are_found(tmp_path: Path) -> None:
    base = make_base("llama", tmp_path / "base", torch.float32)
    spec, model = finished(tmp_path, base)
    assert again(spec, model, "", "--merged")[0] == 0
    folder, path = model / "merged", model / "merged" / "model.safetensors"
    config = json.loads((folder / "config.json").read_text("utf-8"))
    tensors, adapter = trained.read(model / "adapter", base, config)
    types = stored_types(tensors)
    known = reference.read(model / REFERENCE)

    def weights() -> None:
        check.check_weights(folder, tensors, adapter, model / "adapter", types, lambda share: None)

    weights()
    divergence = check.check_predictions(folder, config, known, lambda share: None)
    assert divergence is not None and divergence < check.LIMIT / 1000
    right = load_file(path)
    for name in ("model.layers.0.self_attn.q_proj.weight", "model.norm.weight"):
        wrong = {**right, name: right[name].clone()}
        wrong[name].view(-1)[3] += 0.5
        save_file(wrong, path, {"format": "pt"})
        with pytest.raises(Failure, match=name):
            weights()
    save_file({name: right[name] for name in right if "norm" not in name}, path, {"format": "pt"})
    with pytest.raises(Failure, match="missing"):
        weights()
    with pytest.raises(Failure):
        check.check_predictions(folder, config, known, lambda share: None)
    save_file(right, path, {"format": "pt"})
    (folder / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 0.01}), "utf-8")
    with pytest.raises(Failure, match="nothing to do with the trained model"):
        check.check_predictions(folder, config, known, lambda share: None)


def test_the_adapter_is_a_file_with_a_readme(tmp_path: Path) -> None:
    base = make_base("llama", tmp_path / "base", torch.float32)
    spec, model = finished(tmp_path, base)
    before = names(model)
    status, lines = again(spec, model, "", "--adapter-gguf")
    assert status == 0, lines[-1]
    assert lines[-1]["export"]["forms"] == [{"form": "adapter_gguf", "state": "done", "reason": None}]
    assert names(model) == before | {"adapter.gguf", "adapter.README.md", "base.json"}
    made = {line["artifact"]["kind"]: line["artifact"]["path"] for line in lines if "artifact" in line}
    assert made == {"adapter_gguf": "adapter.gguf", "adapter_readme": "adapter.README.md"}
    assert read_header(model / "adapter.gguf").metadata["general.type"] == "adapter"
    assert "llama-server -m base.gguf --lora adapter.gguf" in (model / "adapter.README.md").read_text("utf-8")


def test_forms_and_types_are_made_together_or_not_at_all(tmp_path: Path) -> None:
    base = make_base("llama", tmp_path / "base", torch.float32)
    spec, model = finished(tmp_path, base, use_dora=True)
    (model / "merged").mkdir()
    (model / "merged" / "former").write_text("of an earlier export")
    status, lines = again(spec, model, "F16", "--merged", "--adapter-gguf")
    assert status == 0 and lines[-1]["export"]["state"] == "done"
    forms = {form["form"]: form for form in lines[-1]["export"]["forms"]}
    assert forms["merged"]["state"] == "done" and forms["adapter_gguf"]["state"] == "failed"
    assert "DoRA" in forms["adapter_gguf"]["reason"]
    assert {"model-F16.gguf", "merged"} <= names(model) and "adapter.gguf" not in names(model)
    assert not (model / "merged" / "former").exists()
    by_peft = merged_by_peft(base, model, torch.bfloat16)
    for name, tensor in load_file(model / "merged" / "model.safetensors").items():
        assert torch.equal(tensor, by_peft[name]), name


def test_sigterm_leaves_no_merged_folder(tmp_path: Path) -> None:
    base = make_base("llama", tmp_path / "base", torch.float32)
    spec, model = finished(tmp_path, base)
    before = names(model)
    with subprocess.Popen(
        [*command(spec, model, ""), "--merged"], cwd=export_fixture.ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"merge"' in line:
                break
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
    assert process.returncode == 143 and '"export"' not in rest
    assert names(model) == before
