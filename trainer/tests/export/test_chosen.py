"""A model at another strength of its adapter, or as it was at a checkpoint, against plain PEFT."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from trainer.export import kept, node_tools
from trainer.export.retention import chosen
from trainer.export.run import run_export
from trainer.export.verification import reference
from trainer.protocol import checkpoints
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.tests import export_fixture
from trainer.tests.export.test_again import again
from trainer.tests.export.test_export_run import make_job

# Weights that the converter does not permute, by their names in a GGUF.
PLAIN = {
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_fixture.make_base("llama", tmp_path_factory.mktemp("base"), "chatml")


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A specification, the folder of its exported model, and a checkpoint of its training."""
    folder = tmp_path_factory.mktemp("trained")
    options = {"alpha_pattern": {"down_proj": 12}, "use_rslora": True}
    spec = make_job(folder / "job", base, ["F32"], **options)
    run_export(JobContext.open(read_spec(spec)))
    written = checkpoints.temporary_folder(folder / "checkpoints")
    tuned = export_fixture.make_adapter(base, written, **options)
    with torch.no_grad():
        for name, parameter in tuned.named_parameters():
            if "lora_B" in name:
                parameter.mul_(-0.3)
    tuned.save_pretrained(written, save_embedding_layers=True)
    checkpoint = checkpoints.seal(written, folder / "checkpoints", 4, {}).path
    model = folder / "model"
    os.rename(spec.parent / "artifacts", model)
    alone = folder / "spec.json"
    shutil.copy(spec, alone)
    shutil.rmtree(spec.parent)
    return alone, model, checkpoint


@pytest.fixture
def model(trained: tuple[Path, Path, Path], tmp_path: Path) -> tuple[Path, Path, Path]:
    """The same with a folder of its own."""
    spec, folder, checkpoint = trained
    return spec, Path(shutil.copytree(folder, tmp_path / "model")), checkpoint


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def choose(spec: Path, folder: Path, into: Path, *options: str) -> dict[str, Any]:
    """Exports a choice, which leaves the model's folder as it was; the result."""
    before = files(folder)
    status, lines = again(spec, folder, "F32,Q8_0", "--into", str(into), *options)
    assert status == 0 and lines[-1]["export"]["state"] == "done", lines[-1]
    assert lines[-1]["verification"]["passed"] and lines[-1]["verification"]["exact"]
    assert lines[-1]["verification"]["mean_kl"] < 1e-3, "compared with its own answers"
    assert {line["artifact"]["path"] for line in lines if "artifact" in line} >= {
        "model-F32.gguf",
        "adapter.gguf",
    }
    assert files(folder) == before
    return lines[-1]


def place(into: Path, folder: Path) -> None:
    """What the service does with a finished choice."""
    for path in into.iterdir():
        if path.is_dir():
            shutil.rmtree(folder / path.name, ignore_errors=True)
        path.rename(folder / path.name)


def deltas(base: Path, adapter: Path) -> dict[str, torch.Tensor]:
    """What the adapter changes, by plain PEFT."""
    model = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), adapter
    )
    return {
        name.removeprefix("base_model.model."): module.get_delta_weight("default").detach()
        for name, module in model.named_modules()
        if hasattr(module, "get_delta_weight") and "default" in module.lora_A
    }


def assert_merged(file: Path, base: Path, adapter: Path, strength: float) -> None:
    """The file has base + strength x change of the adapter."""
    # Not before the converter has imported its own.
    import gguf

    weights = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).state_dict()
    change = deltas(base, adapter)
    stored = {tensor.name: tensor.data for tensor in gguf.GGUFReader(file).tensors}
    compared = 0
    for name, values in stored.items():
        part = name.split(".")
        if len(part) == 4 and part[2] in PLAIN:
            module = f"model.layers.{part[1]}.{PLAIN[part[2]]}"
            wanted = weights[f"{module}.weight"] + strength * change[module]
            torch.testing.assert_close(torch.tensor(values), wanted, atol=1e-6, rtol=1e-5)
            compared += 1
    assert compared >= 8


def said(file: Path, folder: Path, scale: float = 0.0, adapter: Path | None = None) -> torch.Tensor:
    """The log-probabilities in the recorded rows, with an adapter at a scale."""
    known = reference.read(folder / kept.REFERENCE)
    rows = zip(known.sequences, known.positions, known.ids, strict=True)
    request: dict[str, Any] = {
        "gguf": str(file),
        "sequences": [{"tokens": tokens, "positions": at, "ids": ids} for tokens, at, ids in rows],
        "texts": [],
        "continuations": [],
    }
    if adapter is not None:
        request["adapters"] = [{"path": str(adapter), "scale": scale}]
    answer = node_tools.score(export_fixture.TOOLS["score"], request, lambda: None)
    return torch.tensor([value for each in answer["sequences"] for row in each["logprobs"] for value in row])


def test_the_files_at_a_strength_answer_as_the_adapter_at_that_scale(
    model: tuple[Path, Path, Path], base: Path, tmp_path: Path
) -> None:
    spec, folder, _ = model
    into = tmp_path / "chosen"
    choose(spec, folder, into, "--strength", "0.5")
    assert_merged(into / "model-F32.gguf", base, folder / "adapter", 0.5)
    assert_merged(into / "model-F32.gguf", base, into / "adapter", 1)
    # As the playground does it: the merged file with half of the adapter taken away again.
    half = said(folder / "model-F32.gguf", folder, -0.5, folder / "adapter.gguf")
    ours = said(into / "model-F32.gguf", folder)
    assert (half - said(folder / "model-F32.gguf", folder)).abs().max() > 0.1
    torch.testing.assert_close(ours, half, atol=0.01, rtol=0)
    # The adapter's own GGUF is of that strength, too: without it there is the base.
    torch.testing.assert_close(
        said(into / "model-F32.gguf", folder, -1, into / "adapter.gguf"),
        said(folder / "model-F32.gguf", folder, -1, folder / "adapter.gguf"),
        atol=0.01,
        rtol=0,
    )


def test_a_checkpoint_at_a_strength_and_back_to_what_was_trained(
    model: tuple[Path, Path, Path], base: Path, tmp_path: Path
) -> None:
    spec, folder, checkpoint = model
    before = files(folder)
    into = tmp_path / "chosen"
    choose(spec, folder, into, "--checkpoint", str(checkpoint))
    assert_merged(into / "model-F32.gguf", base, checkpoint, 1)
    place(into, folder)
    # A second choice is made of the checkpoint and of what was trained, not of the first.
    choose(spec, folder, into, "--checkpoint", str(checkpoint), "--strength", "1.5")
    assert_merged(into / "model-F32.gguf", base, checkpoint, 1.5)
    place(into, folder)
    choose(spec, folder, into, "--strength", "0.25")
    assert_merged(into / "model-F32.gguf", base, folder / chosen.TRAINED / "adapter", 0.25)
    place(into, folder)
    choose(spec, folder, into)
    place(into, folder)
    shutil.rmtree(folder / chosen.TRAINED)
    after = files(folder)
    del after["model-Q8_0.gguf"]
    for name in ("adapter/adapter_model.safetensors", "model-F32.gguf", "adapter.gguf", kept.REFERENCE):
        assert after[name] == before[name], name
    assert after.keys() == before.keys()


def test_a_checkpoint_that_is_gone_and_an_adapter_without_strength_are_refused(
    model: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    spec, folder, checkpoint = model
    incomplete = Path(shutil.copytree(checkpoint, tmp_path / "checkpoint-9"))
    (incomplete / chosen.WEIGHTS).unlink()
    config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
    for options, code, what in (
        (["--checkpoint", str(incomplete)], "internal", "step 9 is incomplete or gone"),
        (["--strength", "0.5"], "unsupported", "have no strength"),
    ):
        config["modules_to_save"] = ["lm_head"] if code == "unsupported" else None
        (folder / "adapter" / "adapter_config.json").write_text(json.dumps(config))
        status, lines = again(spec, folder, "F32", "--into", str(tmp_path / "chosen"), *options)
        assert (status, lines[-1]["failed"]["code"]) == (1, code)
        assert what in lines[-1]["failed"]["message"]
