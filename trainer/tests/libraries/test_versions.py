"""What reaches into a library runs with the pinned version alone."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from trainer.kernels import allowed
from trainer.libraries import trl, versions
from trainer.protocol.failures import Failure
from trainer.tests import jobs


@pytest.fixture
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of requirements.txt, which is read instead of it."""
    path = tmp_path / "requirements.txt"
    path.write_text(versions.REQUIREMENTS.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(versions, "REQUIREMENTS", path)
    versions.unpinned.cache_clear()
    yield path
    versions.unpinned.cache_clear()


def raise_pin(path: Path, name: str) -> None:
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(f"{name}==99.1" if line.startswith(f"{name}==") else line for line in lines))


def test_every_file_about_a_library_names_one_that_is_pinned_and_installed(pins: Path) -> None:
    files = {path.stem for path in Path(versions.__file__).parent.glob("*.py")} - {
        "__init__",
        "versions",
        "gguf",
    }
    assert {"torch", "transformers", "trl", "peft", "accelerate", "datasets", "ray"} <= files
    assert versions.unpinned(*sorted(files)) is None


def test_a_file_about_a_library_cannot_be_imported_with_another_version(pins: Path) -> None:
    raise_pin(pins, "trl")
    with pytest.raises(Failure, match=r"^trl .* is installed, and Hone is made for 99\.1\.$"):
        importlib.reload(trl)


def test_the_installed_packages_are_those_that_are_pinned(pins: Path) -> None:
    names = ("torch", "transformers", "trl", "peft", "accelerate")
    assert versions.unpinned(*names) is None
    versions.unpinned.cache_clear()
    raise_pin(pins, "peft")
    assert versions.unpinned("torch", "trl") is None
    assert "Hone is made for 99.1" in (versions.unpinned(*names) or "")


def test_kernels_are_off_with_another_torch(pins: Path) -> None:
    raise_pin(pins, "torch")
    assert "torch" in (allowed.why_not("fused layers", "cpu") or "")


def test_a_training_with_another_library_is_refused_at_once(models, tmp_path: Path, pins: Path) -> None:
    raise_pin(pins, "trl")
    spec = jobs.make(tmp_path / "job", models("llama"))
    assert jobs.train(spec) == 1
    failed = jobs.journal(spec)[-1]
    assert (failed["type"], failed["code"]) == ("failed", "dependency_missing")
    assert failed["message"].startswith("trl ") and "99.1" in failed["message"]
    assert not jobs.journal(spec, "metric")
