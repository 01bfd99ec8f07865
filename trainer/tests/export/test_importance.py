"""What matters to a model's rows: measured as it is defined, written with llama.cpp's names, and used."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from trainer.export import kept
from trainer.export.gguf import converter_input
from trainer.export.gguf.convert import convert
from trainer.export.importance import matrix, record
from trainer.export.merge import weights
from trainer.export.tokenizer import options
from trainer.kernels.install import install
from trainer.model.config import complete_config
from trainer.protocol.failures import Failure
from trainer.tests import export_fixture, jobs
from trainer.tests.export.test_export_run import export, make_job

ROWS = [[5, 9, 17, 200, 31, 8], [3, 14, 15], [], list(range(4, 60))]


def measured(model: Any, rows: list[list[int]] = ROWS) -> record.Record:
    """The record without anybody to tell."""
    return record.measure(model, rows, lambda done, total: None)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3", "phi3"])
def test_is_the_mean_of_squared_inputs_and_has_the_names_of_the_file(tmp_path: Path, kind: str) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = export_fixture.make_base(kind, tmp_path / "base")
    tuned = export_fixture.make_adapter(base, tmp_path / "adapter")
    install(tuned, "cpu")
    found = measured(tuned)
    assert found.tokens == sum(map(len, ROWS))

    # The same of the merged model, from the inputs themselves.
    plain_base = AutoModelForCausalLM.from_pretrained(base)
    merged = PeftModel.from_pretrained(plain_base, tmp_path / "adapter").merge_and_unload()
    inputs: dict[str, list[torch.Tensor]] = {}
    for name, module in merged.named_modules():
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            inputs[f"{name}.weight"] = kept_inputs = []
            module.register_forward_pre_hook(lambda _, given, to=kept_inputs: to.append(given[0][0]))
    with torch.no_grad():
        for row in filter(None, ROWS):
            merged(input_ids=torch.tensor([row]), use_cache=False)
    assert found.means.keys() == inputs.keys()
    for name, given in inputs.items():
        plain = torch.cat(given).double().pow(2).mean(0).float()
        assert torch.allclose(found.means[name], plain, rtol=1e-3, atol=1e-7), name

    out = tmp_path / "importance.gguf"
    assert write(base, tmp_path, found, out)
    # The converter's own package is imported first.
    from gguf import GGUFReader

    read = {tensor.name: tensor.data for tensor in GGUFReader(out).tensors}
    down = found.means["model.layers.1.mlp.down_proj.weight"]
    assert torch.allclose(torch.from_numpy(read["blk.1.ffn_down.weight.in_sum2"][0] / found.tokens), down)
    assert read["blk.1.ffn_down.weight.counts"].tolist() == [[found.tokens]]
    assert "token_embd.weight.in_sum2" not in read and "output.weight.in_sum2" not in read
    assert len(read) == 2 * len(found.means)


def write(base: Path, scratch: Path, found: record.Record, out: Path) -> dict[str, Any]:
    """`write_matrix` for the base model."""
    source = scratch / "source"
    source.mkdir()
    converter_input.build(base, source, None, complete_config(base))
    made = partial(
        convert,
        converter_dir=export_fixture.CONVERTER,
        source=source,
        name="tiny",
        options=options.candidates(base)[0],
    )
    return matrix.write_matrix(found, weights.index_checkpoint(base), made, out, lambda share: None)


def test_rows_are_cut_to_the_limits() -> None:
    long = [[1] * (record.LONGEST + 9)] * (record.TOKENS // record.LONGEST + 3)
    parts = list(record._parts([[2, 3], *long]))
    tokens = [row for part in parts for row in part]
    assert sum(map(len, tokens)) == record.TOKENS
    assert max(map(len, tokens)) == record.LONGEST
    assert all(sum(map(len, part)) >= record.BATCH for part in parts[:-1])


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    import torch

    path = tmp_path / kept.IMPORTANCE
    record.write(record.Record({"a.weight": torch.ones(4)}, 9), path)
    assert record.read(path).tokens == 9
    whole = path.read_bytes()
    for values in (torch.tensor([1.0, torch.nan]), torch.tensor([-1.0]), torch.ones(2, 2), torch.ones(0)):
        record.write(record.Record({"a.weight": values}, 9), path)
        with pytest.raises(Failure, match="has numbers that are no means of squares"):
            record.read(path)
    for content in (b"", whole[:-1], whole[:20], b"x" * 100):
        path.write_bytes(content)
        with pytest.raises(Failure, match="is damaged"):
            record.read(path)


def test_an_export_uses_it_for_small_types_and_keeps_it(tmp_path: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = export_fixture.make_base("llama", tmp_path / "base", "chatml")
    plain = make_job(tmp_path / "plain", base, ["Q4_K_M", "Q8_0"])
    spec = make_job(tmp_path / "job", base, ["Q4_K_M", "Q8_0"])
    artifacts = spec.parent / "artifacts"
    tuned = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), artifacts / "adapter")
    found = measured(tuned)
    record.write(found, artifacts / kept.IMPORTANCE)

    done = export(spec)
    assert done["export"]["state"] == "done" and done["verification"]["passed"], done
    files = {file["quantization"]: file for file in done["export"]["files"]}
    assert files["Q4_K_M"]["importance_tokens"] == found.tokens
    assert "importance_tokens" not in files["Q8_0"]
    published = {line["kind"]: line for line in jobs.journal(spec, "artifact")}
    assert published["importance"]["bytes"] == (artifacts / matrix.NAME).stat().st_size

    without = export(plain)
    assert not any("importance_tokens" in file for file in without["export"]["files"])
    tensors = [_data(each.parent / "artifacts" / "model-Q4_K_M.gguf") for each in (plain, spec)]
    assert tensors[0] != tensors[1]
    assert _data(artifacts / "model-Q8_0.gguf") == _data(plain.parent / "artifacts" / "model-Q8_0.gguf")

    # Damaged, it costs the importance and nothing else.
    (artifacts / kept.IMPORTANCE).write_bytes(b"nothing")
    again = export(spec)
    assert again["export"]["state"] == "done"
    assert not any("importance_tokens" in file for file in again["export"]["files"])
    assert any(line["code"] == "no_importance" for line in jobs.journal(spec, "warning"))
    assert _data(artifacts / "model-Q4_K_M.gguf") == tensors[0]


def _data(path: Path) -> dict[str, bytes]:
    """The tensors of a GGUF."""
    from gguf import GGUFReader

    return {tensor.name: tensor.data.tobytes() for tensor in GGUFReader(path).tensors}


def test_the_check_weighs_errors_and_still_notices_wrong_weights(tmp_path: Path) -> None:
    import numpy as np

    from trainer.export.verification.block_error import LAYOUTS, block_limits, weighted

    made = np.random.default_rng(3)
    weights = made.standard_normal((8, 512), np.float32)
    importance = np.where(np.arange(512) % 16 == 0, np.float32(1000), np.float32(1)) * np.ones((8, 1))
    for kind, layout in LAYOUTS.items():
        if kind == "Q8_0":  # takes no importance
            continue
        limits = block_limits(kind, weights.reshape(-1))
        # Far off where it does not matter, and exact where it does.
        errors = np.where(importance > 1, 0, 0.2 * weights)
        found, allowed = weighted(kind, weights, errors, limits, importance)
        assert found.shape == allowed.shape == (weights.size // layout.whole,)
        assert (found <= allowed).all(), kind
        # Other weights in the place of these.
        found, allowed = weighted(kind, weights, weights[::-1] - weights, limits, importance)
        assert (found > allowed).any(), kind
        assert np.sqrt((found**2).sum() / (allowed**2).sum()) > 1.5 / np.sqrt(12), kind
