"""What the converter's classes are given, and what they set for themselves."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.export import node_tools
from trainer.export.gguf.convert import load_converter
from trainer.export.gguf.rotation import partial_rotation
from trainer.export.gguf.stubbed_transformers import stubbed_transformers
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped
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
    assert difference(toys.build(name, tmp_path / "base"), tmp_path / "model.gguf") < SAME


def difference(base: Path, path: Path) -> float:
    """The largest difference between the log-probabilities of the model `base` and those of its file `path`,
    which is made."""
    import torch
    from transformers import AutoModelForCausalLM

    gguf = convert_plain(base, path)
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
    return (found - expected[likeliest]).abs().max().item()


def test_only_the_rotated_part_of_a_head_is_reordered(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    base = toys.build("bamba", tmp_path / "base")
    tensors = load_file(base / "model.safetensors")
    # Attention that is sure of itself, so that it matters what is rotated.
    for name in tensors:
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            tensors[name] *= 8
    save_file(tensors, base / "model.safetensors", {"format": "pt"})
    assert difference(base, tmp_path / "model.gguf") < SAME

    # The factors of an adapter are reordered as their product.
    conversion = load_converter(export_fixture.CONVERTER)
    with stubbed_transformers():
        pair_type = importlib.import_module("convert_lora_to_gguf").LoraTorchTensor
    a, b = torch.randn(3, 5), torch.randn(32, 3)
    with partial_rotation({"rope_parameters": {"partial_rotary_factor": 0.5}}):
        permute = importlib.import_module(f"{conversion.__name__}.llama").LlamaModel.permute
        factor_a, factor_b = permute(pair_type(a, b), 4, 2).get_lora_A_B()
        assert torch.allclose(factor_b @ factor_a, permute(b @ a, 4, 2), atol=1e-6)
        order = permute(torch.arange(32), 4, 2)
    assert order[:16].tolist() == [0, 4, 1, 5, 2, 6, 3, 7, *range(8, 16)]
    assert order[16:].tolist() == (order[:16] + 16).tolist()


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


def test_a_scorer_is_started_before_its_request_and_ended_without_one(tmp_path: Path) -> None:
    gguf = convert_plain(export_fixture.make_base("llama", tmp_path / "base"), tmp_path / "model.gguf")
    request = {"gguf": str(gguf), "sequences": [], "texts": ["One two."]}
    with node_tools.Scorer(export_fixture.TOOLS["score"]) as scorer:
        answer = scorer.answer(request, lambda: None)
    assert answer["texts"][0] and answer == node_tools.score(
        export_fixture.TOOLS["score"], request, lambda: None
    )

    reads_nothing = [sys.executable, "-c", "import time; print('on', flush=True); time.sleep(600)"]
    with node_tools.Scorer(reads_nothing) as scorer:
        process = scorer._process
    assert process.returncode == -signal.SIGTERM

    def stop() -> None:
        raise Stopped

    # More than a pipe holds.
    with node_tools.Scorer(reads_nothing) as scorer, pytest.raises(Stopped):
        scorer.answer({"texts": ["a" * 2**20]}, stop)
