"""The exact verification: right files pass in every type, and each of twenty deliberate faults is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.tests import export_fixture
from trainer.tests.export.deliberate_faults import Files, faults

DIRECT = ("F32", "F16", "BF16", "Q8_0")
QUANTIZED = ("Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "IQ4_XS", "Q3_K_M", "Q2_K")


def made(folder: Path, kind: str) -> Files:
    base = export_fixture.make_base(kind, folder / "base")
    export_fixture.make_adapter(base, folder / "adapter")
    return Files(folder / "files", base, folder / "adapter")


@pytest.mark.parametrize("kind", ["llama", "gpt2", pytest.param("gemma3", marks=pytest.mark.long)])
def test_a_right_file_of_every_type_passes(tmp_path: Path, kind: str) -> None:
    files = made(tmp_path, kind)
    written = {name: (files.write(name), None) for name in DIRECT}
    written |= {name: (files.quantize(written["F16"][0], name), "F16") for name in QUANTIZED}
    assert files.wrong(written) == dict.fromkeys(written)


def test_each_deliberate_fault_is_caught_and_named(tmp_path: Path) -> None:
    files = made(tmp_path, "llama")
    other = tmp_path / "other"
    export_fixture.make_adapter(files.base, other, r=2)
    right, eight = files.write("F16"), files.write("Q8_0")
    four = files.quantize(right, "Q4_0")
    cases = faults(files, right, eight, four, other)
    assert len(cases) >= 20
    found = files.wrong({name: (path, source) for name, (path, source, _) in cases.items()})
    for name, (_, _, told) in cases.items():
        reason = found[name]
        print(f"{name}: {reason}")
        assert reason is not None and told in reason, f"{name}: {reason}"


def test_a_bias_that_is_dropped_is_named(tmp_path: Path) -> None:
    files = made(tmp_path, "gpt2")
    name = next(name for name in files.tensors if name.endswith("h.0.attn.c_attn.bias"))
    less = {key: stored for key, stored in files.tensors.items() if key != name}
    reason = files.wrong({"less": (files.write("F16", "less", tensors=less), None)})["less"]
    assert reason is not None and "blk.0.attn_qkv.bias is missing" in reason
