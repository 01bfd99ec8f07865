"""Exporting a finished model again, in a process of its own, from what its folder keeps."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainer.export import kept
from trainer.export.run import run_export
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.tests import export_fixture
from trainer.tests.export.test_export_run import make_job


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny llama with a chat template."""
    return export_fixture.make_base("llama", tmp_path_factory.mktemp("base"), "chatml")


@pytest.fixture
def model(tmp_path: Path, base: Path) -> tuple[Path, Path]:
    """A specification and the folder of its model, exported as F16, whose job folder and dataset are gone."""
    spec = make_job(tmp_path / "job", base, ["F16"])
    run_export(JobContext.open(read_spec(spec)))
    folder = tmp_path / "model"
    os.rename(spec.parent / "artifacts", folder)
    alone = tmp_path / "spec.json"
    shutil.copy(spec, alone)
    shutil.rmtree(spec.parent)
    return alone, folder


def command(spec: Path, folder: Path, types: str) -> list[str]:
    return [sys.executable, "-m", "trainer", "reexport", str(spec), str(folder), types]


def again(spec: Path, folder: Path, types: str, *options: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit status and the lines of an export."""
    told = subprocess.run(
        [*command(spec, folder, types), *options], cwd=export_fixture.ROOT, capture_output=True, text=True
    )
    assert told.stdout, told.stderr
    return told.returncode, [json.loads(line) for line in told.stdout.splitlines()]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_other_types_are_made_and_the_old_ones_replaced(model: tuple[Path, Path]) -> None:
    spec, folder = model
    before = (folder / "model-F16.gguf").read_bytes()
    (folder / "model-F16.gguf").write_bytes(b"damaged")
    files = names(folder)
    status, lines = again(spec, folder, "F16,Q4_K_M")
    assert status == 0, lines[-1]
    assert lines[-1]["export"] == {
        "state": "done",
        "code": None,
        "reason": None,
        "advice": None,
        "files": [{"quantization": name, "state": "done", "reason": None} for name in ("F16", "Q4_K_M")],
    }
    assert lines[-1]["verification"]["passed"] is True
    assert names(folder) == files | {"model-Q4_K_M.gguf"}
    assert (folder / "model-F16.gguf").read_bytes() == before, "the same file as at the end of the training"
    made = [line["artifact"] for line in lines if "artifact" in line]
    assert {(entry["kind"], entry["path"], entry["quantization"]) for entry in made} == {
        ("gguf", "model-F16.gguf", "F16"),
        ("gguf", "model-Q4_K_M.gguf", "Q4_K_M"),
        ("verification", "verification.json", None),
    }
    for entry in made:
        assert (folder / entry["path"]).stat().st_size == entry["bytes"]
    phases = {line["phase"] for line in lines if "phase" in line}
    assert phases == {"merge", "convert", "quantize", "verify"}
    assert set(json.loads((folder / "verification.json").read_text())["files"]) == {"F16", "Q4_K_M"}


def test_a_model_of_an_earlier_release_is_exported_as_far_as_its_base_allows(
    model: tuple[Path, Path],
) -> None:
    spec, folder = model
    for name in (kept.FILE, kept.REFERENCE):
        (folder / name).unlink()
    status, lines = again(spec, folder, "Q8_0")
    assert status == 0 and lines[-1]["export"]["state"] == "done"
    assert "model-Q8_0.gguf" in names(folder)


def test_what_cannot_be_done_is_told_and_changes_nothing(model: tuple[Path, Path], tmp_path: Path) -> None:
    spec, folder = model
    value = json.loads(spec.read_text())
    before = names(folder)
    gone = tmp_path / "gone.json"
    gone.write_text(json.dumps({**value, "model": {"name": "x", "path": str(tmp_path / "nowhere")}}))
    for path, types, code, said in (
        (gone, "F16", "model_not_accessible", "no longer in"),
        (spec, "../x", "unsupported", "no type of GGUF files"),
        (tmp_path / "none.json", "F16", "internal", "none.json"),
    ):
        status, lines = again(path, folder, types)
        assert (status, lines[-1]["failed"]["code"]) == (1, code) and said in lines[-1]["failed"]["message"]
        assert names(folder) == before
    status, lines = again(spec, tmp_path / "empty", "F16")
    assert status == 1 and "no adapter" in lines[-1]["failed"]["message"]


def test_sigterm_cancels_and_leaves_the_folder_as_it_was(model: tuple[Path, Path]) -> None:
    spec, folder = model
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    with subprocess.Popen(
        command(spec, folder, "Q8_0,Q4_K_M"), cwd=export_fixture.ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"convert"' in line:
                break
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
    assert process.returncode == 143 and '"export"' not in rest
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_damaged_record_is_refused_by_name(model: tuple[Path, Path]) -> None:
    spec, folder = model
    (folder / kept.FILE).write_text('{"version": 1}')
    status, lines = again(spec, folder, "F16")
    assert status == 1 and "export.json" in lines[-1]["failed"]["message"]
