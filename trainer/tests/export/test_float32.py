"""A model in 16 bits computes as the same weights do in float32, and is afterwards what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.export.verification import reference
from trainer.export.verification.float32 import in_float32
from trainer.kernels.install import install
from trainer.tests import export_fixture


@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt2"])
def test_in_float32_without_a_second_copy(tmp_path: Path, kind: str) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = export_fixture.make_base(kind, tmp_path / "base")
    export_fixture.make_adapter(base, tmp_path / "adapter")
    half = tmp_path / "half"
    AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16).save_pretrained(half)

    def load(dtype: torch.dtype) -> PeftModel:
        model = AutoModelForCausalLM.from_pretrained(half, dtype=dtype)
        return PeftModel.from_pretrained(model, tmp_path / "adapter").eval()

    rounded, exact = load(torch.bfloat16), load(torch.float32)
    install(rounded, "cpu")
    before = {name: (value.dtype, value.data_ptr()) for name, value in rounded.named_parameters()}
    rows = torch.tensor([[5, 9, 17, 200, 31, 8], [3, 14, 15, 92, 65, 35]])
    with torch.no_grad():
        wanted = exact(input_ids=rows, use_cache=False).logits
        usual = rounded(input_ids=rows, use_cache=False).logits
        with in_float32(rounded):
            found = rounded(input_ids=rows, use_cache=False).logits
        again = rounded(input_ids=rows, use_cache=False).logits
    assert found.dtype == torch.float32
    assert float((found - wanted).abs().max()) < 1e-5
    assert float((usual.float() - wanted).abs().max()) > 1e-3, "bfloat16 is not exact"
    assert torch.equal(usual, again)
    assert before == {name: (value.dtype, value.data_ptr()) for name, value in rounded.named_parameters()}


def test_a_record_has_the_learned_tokens_and_is_read_as_it_was_made(tmp_path: Path) -> None:
    base = export_fixture.make_base("llama", tmp_path / "base")
    tuned = export_fixture.make_adapter(base, tmp_path / "adapter")
    rows = [([5, 6, 7, 8, 9], [-100, -100, 7, 8, 9]), ([11, 12, 13], [-100, 12, 13])]
    path = tmp_path / "reference.safetensors"
    reference.record(tuned, rows, path, lambda done, total: None)
    found = reference.read(path)
    assert found.exact and found.labelled
    assert dict(zip(map(tuple, found.sequences), found.positions, strict=True)) == {
        (5, 6, 7, 8, 9): [1, 2, 3],
        (11, 12, 13): [0, 1],
    }
    for tokens, places, ids in zip(found.sequences, found.positions, found.ids, strict=True):
        assert [row[-1] for row in ids] == [tokens[at + 1] for at in places]
    assert found.adapter != found.base
