"""What the converter's classes are given, and what they set for themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.export import node_tools
from trainer.protocol.failures import Failure
from trainer.tests import export_fixture
from trainer.tests.architectures import toys
from trainer.tests.export.test_export import convert_plain

# Natural logarithms; llama.cpp keeps keys and values in 16 bits.
SAME = 0.01


@pytest.mark.parametrize(
    "name",
    [
        "falcon-7b",  # transformers fills in a number that is not true
        "gpt-neox",  # transformers removes rotary_pct
        "granite4-h-moe",  # transformers renames the kinds of layers
        "qwen3-next",  # the class counts layers before it reads tensors, and expects one for further tokens
        "glm4-moe-lite",  # llama.cpp knows the function of the router by the sizes of the published model
        "glm4-moe",  # the class expects tokens that this tokenizer does not have
        "ministral3",  # the class hands everything on to another
    ],
)
def test_a_file_answers_like_transformers(name: str, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    base = toys.build(name, tmp_path / "base")
    gguf = convert_plain(base, tmp_path / "model.gguf")
    tokens = torch.randint(8, 400, (1, 60), generator=torch.Generator().manual_seed(1))
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval()
    with torch.no_grad():
        expected = torch.log_softmax(model(tokens).logits[0, -1].double(), -1)
    likeliest = expected.topk(50).indices
    asked = {"tokens": tokens[0].tolist(), "positions": [tokens.shape[1] - 1], "ids": [likeliest.tolist()]}
    request = {"gguf": str(gguf), "sequences": [asked]}
    told = subprocess.run(
        export_fixture.TOOLS["score"], input=json.dumps(request).encode(), capture_output=True, check=True
    )
    found = torch.tensor(json.loads(told.stdout)["sequences"][0]["logprobs"][0])
    assert (found - expected[likeliest]).abs().max() < SAME


def test_llama_cpp_s_own_reason_is_told(tmp_path: Path) -> None:
    """The engine throws "Failed to load model" and logs why; a process that aborts says why at its end."""
    base = export_fixture.make_base("llama", tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    # llama.cpp then looks for a third layer.
    (base / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    gguf = convert_plain(base, tmp_path / "model.gguf")
    with pytest.raises(Failure, match=r"Failed to load model: missing tensor 'blk\.2\.attn_norm\.weight'"):
        node_tools.score(export_fixture.TOOLS["score"], {"gguf": str(gguf), "sequences": []}, lambda: None)
    abort = "import os, sys; print('  what():  map::at', file=sys.stderr, flush=True); os.abort()"
    with pytest.raises(Failure, match="signal 6: map::at"):
        node_tools.score([sys.executable, "-c", abort], {}, lambda: None)
