"""What answers as a run was at a checkpoint, against transformers with that checkpoint's adapter."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from trainer.export import base_note, checkpoint, full_precision, node_tools
from trainer.export.run import run_export
from trainer.protocol import checkpoints
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.tests import export_fixture
from trainer.tests.export.test_export_run import make_job
from trainer.tests.model import stored_codes

TALKS = export_fixture.CONVERSATIONS


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A completed job of two GGUFs with one checkpoint, and what transformers says with its adapter."""
    import torch
    from transformers import AutoTokenizer

    from trainer.data import template

    base = export_fixture.make_base("llama", tmp_path_factory.mktemp("base"), "chatml")
    spec = make_job(tmp_path_factory.mktemp("job") / "job", base, ["F16", "Q8_0"])
    folder = spec.parent
    written = checkpoints.temporary_folder(folder / "checkpoints")
    # Of another rank than the last adapter.
    tuned = export_fixture.make_adapter(base, written, r=2)
    checkpoints.seal(written, folder / "checkpoints", 4, {})
    run_export(JobContext.open(read_spec(spec)))
    chosen = template.load(folder / "artifacts" / "template.json")
    prompts = [template.render(chosen, talk, True) for talk in TALKS]
    sequences = AutoTokenizer.from_pretrained(base)(prompts, add_special_tokens=False).input_ids
    with torch.inference_mode():
        said = [tuned(input_ids=torch.tensor([ids])).logits[0, -1].log_softmax(-1) for ids in sequences]
        with tuned.disable_adapter():
            before = tuned(input_ids=torch.tensor([sequences[0]])).logits[0, -1].log_softmax(-1)
    assert float((said[0] - before).abs().max()) > 0.1
    return {"spec": spec, "sequences": sequences, "said": [values.tolist() for values in said]}


def prepare(
    job: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    step: int | None,
    with_base: bool,
    named: str | None = None,
) -> Any:
    folder = job["spec"].parent
    bases = str(folder / "bases") if with_base else None
    template = folder / "artifacts" / "template.json"
    status = checkpoint.prepare(str(job["spec"]), step, str(template), bases, named)
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status == int("failed" in answer)
    return answer


def difference(job: dict[str, Any], gguf: Path, adapters: list[tuple[Path | str, float]]) -> float:
    """The largest difference of a log-probability between llama.cpp and transformers."""
    request = {
        "gguf": str(gguf),
        "sequences": [
            {"tokens": ids, "positions": [len(ids) - 1], "ids": [list(range(len(said)))]}
            for ids, said in zip(job["sequences"], job["said"], strict=True)
        ],
        "texts": [],
        "adapters": [{"path": str(path), "scale": scale} for path, scale in adapters],
    }
    scored = node_tools.score(export_fixture.TOOLS["score"], request, lambda: None)["sequences"]
    return max(
        abs(a - b)
        for said, got in zip(job["said"], scored, strict=True)
        for a, b in zip(said, got["logprobs"][0], strict=True)
        if a > -30
    )


def test_the_answer_of_a_checkpoint_is_that_of_its_adapter(
    job: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = job["spec"].parent
    made = prepare(job, capsys, 4, True)
    noted = json.loads((folder / "artifacts" / "base.json").read_text("utf-8"))
    assert made == {
        "adapter": str(folder / "checkpoints" / "checkpoint-4" / "adapter.gguf"),
        "base": str(folder / "bases" / noted["file"]),
    }
    assert json.loads((folder / "base.json").read_text("utf-8")) == noted
    assert noted["file"].startswith(noted["base"] + "-F16")
    assert os.listdir(folder / "bases") == [noted["file"]]
    inode = os.stat(made["base"]).st_ino
    assert prepare(job, capsys, None, True) == {"adapter": None, "base": made["base"]}
    assert os.stat(made["base"]).st_ino == inode, "it is made once"
    assert not (folder / "checkpoint.partial").exists()
    assert checkpoints.complete(folder / "checkpoints", 4) is not None, "it can still be resumed from"
    final = folder / "artifacts" / "adapter.gguf"
    figures = {
        name: difference(
            job, folder / "artifacts" / f"model-{name}.gguf", [(final, -1), (made["adapter"], 1)]
        )
        for name in ("F16", "Q8_0")
    }
    figures["base"] = difference(job, made["base"], [(made["adapter"], 1)])
    print(figures)
    # With F16 weights llama.cpp's own arithmetic is left: it keeps keys and values in 16 bits.
    assert figures["F16"] < 0.01 and figures["base"] < 0.01, figures
    assert figures["F16"] < figures["Q8_0"] < 0.1, figures


def test_the_base_of_a_job_is_found_out_unless_it_changed(
    job: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    artifacts = job["spec"].parent / "artifacts"

    def described(trained: float) -> Any:
        status = base_note.describe(str(job["spec"]), str(artifacts / "template.json"), trained)
        answer = json.loads(capsys.readouterr().out)
        assert status == int("failed" in answer)
        return answer

    written = max(path.stat().st_mtime for path in Path(read_spec(job["spec"]).model.path or "").iterdir())
    assert described(written) == json.loads((artifacts / "base.json").read_text("utf-8"))
    failed = described(written - 1)["failed"]
    assert "have changed since the training" in failed["message"]
    assert failed["advice"] == "Train it again."


def test_a_quantized_base_is_dequantized_apart_from_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that is resumed makes a copy in the job folder meanwhile."""
    base = export_fixture.make_base("llama", tmp_path / "base", "chatml")
    spec = make_job(tmp_path / "job", base, ["F16"])
    stored_codes.store(base, tmp_path / "stored", "gptq")
    top = json.loads(spec.read_text())
    spec.write_text(json.dumps({**top, "model": {**top["model"], "path": str(tmp_path / "stored")}}))
    unfinished = spec.parent / full_precision.PARTIAL
    unfinished.mkdir()
    (unfinished / "model.safetensors").write_text("half of it")
    made = prepare({"spec": spec}, capsys, None, True)
    assert Path(made["base"]).is_file()
    assert [path.name for path in unfinished.iterdir()] == ["model.safetensors"]
    assert not (spec.parent / full_precision.FOLDER).exists()
    assert not (spec.parent / "checkpoint.partial").exists()


def test_what_cannot_answer_is_told(job: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert "step 7 is incomplete or gone" in prepare(job, capsys, 7, False)["failed"]["message"]
    folder = job["spec"].parent
    settings = json.loads(job["spec"].read_text())
    gone = {**settings, "model": {"name": "tests/tiny", "path": str(folder / "nowhere")}}
    job["spec"].write_text(json.dumps(gone))
    try:
        failed = prepare(job, capsys, 4, False)["failed"]
        assert failed["code"] == "model_not_accessible" and "nowhere" in failed["message"]
    finally:
        job["spec"].write_text(json.dumps(settings))


def test_a_base_that_has_changed_since_the_training_is_not_used(
    job: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    named = json.loads((job["spec"].parent / "artifacts" / "base.json").read_text("utf-8"))["file"]
    weights = Path(json.loads(job["spec"].read_text())["model"]["path"]) / "model.safetensors"
    before = weights.stat()
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    try:
        failed = prepare(job, capsys, None, True, named)["failed"]
        assert "have changed since the training" in failed["message"]
    finally:
        os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "failed" not in prepare(job, capsys, None, True, named)


def test_frozen_copies_of_embeddings_are_ignored(tmp_path: Path) -> None:
    """A checkpoint whose adapter changes the output layer also has that layer and the embedding."""
    from trainer.export.merge import adapter, weights

    base = export_fixture.make_base("llama", tmp_path / "base", "chatml")
    export_fixture.make_adapter(base, tmp_path / "adapter", target_modules=["q_proj", "lm_head"])
    tensors = weights.index_checkpoint(base)
    assert adapter.load(tmp_path / "adapter", tensors, False).replaces_tensors
    loaded = adapter.load(tmp_path / "adapter", tensors, False, ignore_embeddings=True)
    assert not loaded.replaces_tensors
    assert sorted(name.split(".")[-2] for name in loaded.updates) == ["lm_head", "q_proj", "q_proj"]
    # Whole trained layers are no low-rank change, so they must not be ignored.
    export_fixture.make_adapter(
        base, tmp_path / "saved", target_modules=["q_proj"], modules_to_save=["lm_head"]
    )
    assert adapter.load(tmp_path / "saved", tensors, False, ignore_embeddings=True).replaces_tensors
