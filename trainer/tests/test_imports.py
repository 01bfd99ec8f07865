"""A training in a fresh process imports only packages that it uses, and trains the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.tests.jobs import ROOT, forked, journal, losses, make
from trainer.tests.tiny import sentences

UNUSED = ("bitsandbytes.nn", "triton.language", "aiohttp")


def python(*arguments: str) -> str:
    """Runs Python with the `arguments`; returns what it writes to both outputs."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def rows_of(top: dict) -> list[dict]:
    """Rows for a training with these fields of its specification."""
    if "task" in top:
        return [{"input": text, "output": reply} for text, reply in sentences(24)]
    return [{"prompt": text, "chosen": reply, "rejected": "no"} for text, reply in sentences(24)]


def imported(spec: Path) -> set[str]:
    """Trains the job in a fresh process; returns the modules that it imported."""
    said = python("-X", "importtime", "-m", "trainer", "run", str(spec))
    return set(re.findall(r"^import time: .*\| +(\S+)$", said, re.M))


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="Some of the modules are for GPUs.")
def test_a_training_imports_no_package_that_it_does_not_use(models, tmp_path: Path) -> None:
    model, settings = models("llama"), {"eval_split": 0.2, "save_steps": 4, "keep_best": True}
    spec = make(tmp_path / "fresh", model, **settings)
    modules = imported(spec)
    assert {"torch", "transformers", "peft", "datasets"} <= modules
    assert not modules & set(UNUSED)
    assert journal(spec)[-1]["type"] == "done"
    usual = make(tmp_path / "usual", model, **settings)
    assert forked(usual) == 0
    assert losses(spec) == losses(usual)


@pytest.mark.parametrize(
    ("kind", "top"),
    [
        ("gemma3", {"strategy": "dpo"}),
        pytest.param("t5", {"task": "summarization"}, marks=pytest.mark.long),
    ],
)
def test_other_trainings_are_the_same_in_a_fresh_process(
    models, tmp_path: Path, kind: str, top: dict
) -> None:
    rows = rows_of(top)
    fresh, usual = (
        make(tmp_path / name, models(kind), rows, top, max_steps=2, eval_split=0.25)
        for name in ("fresh", "usual")
    )
    said = python("-m", "trainer", "run", str(fresh))
    assert journal(fresh)[-1]["type"] == "done", said[-3000:]
    assert forked(usual) == 0
    assert losses(fresh) == losses(usual)


def test_a_quantized_training_has_its_library(models, tmp_path: Path) -> None:
    spec = make(tmp_path / "job", models("llama"), top={"strategy": "qlora"}, max_steps=1)
    assert "bitsandbytes.nn" in imported(spec)
    assert journal(spec)[-1]["type"] == "done"


BITSANDBYTES = {"quant_method": "bitsandbytes", "load_in_4bit": True}


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({}, False),
        ({"quantization_config": BITSANDBYTES}, True),
        ({"compression_config": BITSANDBYTES}, True),
        ({"text_config": {"quantization_config": BITSANDBYTES}}, True),
    ],
)
def test_a_model_that_is_stored_quantized_has_its_library(tmp_path: Path, config: dict, kept: bool) -> None:
    spec = make(tmp_path, tmp_path / "model")
    program = (
        "import sys; from trainer import imports; from trainer.protocol.contracts import read_spec;"
        f"imports.begin(); imports.spare(read_spec({str(spec)!r}), {config});"
        "print(sys.modules.get('bitsandbytes', 'kept'))"
    )
    assert python("-c", program).strip() == ("kept" if kept else "None")
