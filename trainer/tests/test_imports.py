"""A training in a fresh process imports only what it uses, and trains the same."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.imports import _Distributions
from trainer.tests.jobs import ROOT, forked, journal, losses, make
from trainer.tests.tiny import sentences

UNUSED = (
    "torch._dynamo.convert_frame",
    "torch._inductor",
    "torch.distributed.fsdp._flat_param",
    "torch.distributed.tensor._ops",
    "sympy.core",
    "bitsandbytes.nn",
    "triton.language",
    "aiohttp",
)


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
def test_a_training_imports_no_compiler_and_nothing_quantized(models, tmp_path: Path) -> None:
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
    [("gemma3", {"strategy": "dpo"}), ("t5", {"task": "summarization"})],
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
    assert {"bitsandbytes.nn", "torch._dynamo.convert_frame"} <= imported(spec)
    assert journal(spec)[-1]["type"] == "done"


def test_a_compiler_that_was_put_off_compiles() -> None:
    said = python(
        "-c",
        """
import sys
from trainer import imports
sys.meta_path.insert(0, imports._Deferral())
import torch

kept = torch._dynamo.disable(recursive=False)(len)
assert kept is len and torch._dynamo.disable(len) is len
assert "torch._dynamo.convert_frame" not in sys.modules
module = torch._dynamo
calls = []

def backend(graph, inputs):
    calls.append(graph)
    return graph.forward

doubled = torch.compile(lambda x: x * 2, backend=backend)
assert doubled(torch.ones(2)).tolist() == [2, 2] and len(calls) == 1
assert module is torch._dynamo is sys.modules["torch._dynamo"]
assert torch._dynamo.disable is not imports._as_it_is
assert isinstance(torch.compile(torch.nn.Linear(1, 1)), torch._dynamo.eval_frame.OptimizedModule)
print("compiled")
""",
    )
    assert said.splitlines()[-1] == "compiled"


def test_what_stands_for_a_name_becomes_the_real_one_when_it_is_used() -> None:
    said = python(
        "-c",
        """
import sys
from trainer import imports
sys.meta_path.insert(0, imports._Deferral())
import torch
from sympy import Basic
from torch.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
from torch.distributed.tensor import DTensor
from torch.fx.experimental.symbolic_shapes import expect_true, is_nested_int, sym_eq
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

def divided(tensor: DTensor | torch.Tensor | None, model: int | FullyShardedDataParallel) -> None: ...

assert not isinstance(torch.ones(1), (DTensor, BlockMask)) and not issubclass(torch.Tensor, DTensor)
assert expect_true(True) and not expect_true(False) and not is_nested_int(3)
assert sym_eq((1, 2), torch.Size([1, 2])) and not sym_eq((1, 2), (1, 3))
assert torch.arange(3, device="meta").float().shape == (3,)
for name in ("sympy.core", "torch.distributed.tensor._api", "torch.distributed.fsdp._flat_param"):
    assert name not in sys.modules, name

mask = create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 128, 128, device="cpu")
assert isinstance(mask, BlockMask) and type(mask) is torch.nn.attention.flex_attention.BlockMask

from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch._subclasses import FakeTensorMode
environment = ShapeEnv()
with FakeTensorMode(shape_env=environment):
    size = environment.create_unbacked_symint()
    assert expect_true(size > 3) and isinstance(size.node.expr, Basic) and not is_nested_int(size)

import sympy
assert isinstance(sympy.Symbol("x"), Basic) and Basic is not sympy.Basic
class Own(DTensor): ...
assert Own.__mro__[1] is torch.distributed.tensor.DTensor and issubclass(Own, DTensor)
assert DTensor.from_local is not None and FullyShardedDataParallel.state_dict_type is not None
print("used")
""",
    )
    assert said.splitlines()[-1] == "used"


def test_packages_are_found_as_python_finds_them() -> None:
    expected, found = importlib.metadata.packages_distributions(), _Distributions()
    for module in ("numpy", "peft", "trl", "huggingface_hub", "yaml", "jinja2"):
        assert {name.lower() for name in found[module]} == {name.lower() for name in expected[module]}
    assert found.get("no_such_module", []) == []
    with pytest.raises(KeyError):
        found["no_such_module"]
