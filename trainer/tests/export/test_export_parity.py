"""The exported GGUF, run by llama.cpp, against transformers: same tokens, same probabilities, same text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainer.export import node_tools
from trainer.tests import export_fixture

#: largest difference of a log-probability with F32 weights; llama.cpp keeps keys and values in 16 bits
EXACT = 0.01


def compare(out: Path, key: str, file: str = "model.gguf", scale: int = 0) -> None:
    """Scores a GGUF in `out`, with `adapter.gguf` at a scale, against expected.json."""
    expected = json.loads((out / "expected.json").read_text("utf-8"))
    everything = list(range(len(expected[0][key]["logprobs"])))
    request = {
        "gguf": str(out / file),
        "sequences": [
            {"tokens": entry["ids"], "positions": [len(entry["ids"]) - 1], "ids": [everything]}
            for entry in expected
        ],
        "texts": [entry["prompt"] for entry in expected],
        "continuations": [
            {"tokens": entry["ids"], "maxTokens": export_fixture.NEW_TOKENS} for entry in expected
        ],
    }
    if scale:
        request["adapters"] = [{"path": str(out / "adapter.gguf"), "scale": scale}]
    answer = node_tools.score(export_fixture.TOOLS["score"], request, lambda: None)
    assert answer["texts"] == [entry["ids"] for entry in expected]
    compared = 0
    for entry, scored, got in zip(expected, answer["sequences"], answer["continuations"], strict=True):
        wanted = entry[key]
        difference = max(
            abs(a - b) for a, b in zip(wanted["logprobs"], scored["logprobs"][0], strict=True) if a > -30
        )
        assert difference < EXACT, entry["prompt"]
        clear = wanted["clear"]
        assert got[:clear] == wanted["ids"][:clear], entry["prompt"]
        if clear == len(wanted["ids"]) and wanted["ended"]:
            assert got == wanted["ids"]
        compared += clear
    assert compared >= 12, "too few clear tokens to compare"


# A byte-level tokenizer, an architecture with norms of its own, a SentencePiece tokenizer.
QUICK = ("llama", "gemma3", "mistral-sp")


def kinds():
    for kind in ("llama", "qwen3", "gemma3", "gpt2", "mistral", "gemma2", "phi3", "mistral-sp"):
        yield pytest.param(kind, marks=[] if kind in QUICK else [pytest.mark.long])


@pytest.mark.parametrize("kind", list(kinds()))
def test_tokens_and_text_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    template = "chatml" if kind in ("qwen3", "gemma2") else None
    export_fixture.build(kind, tmp_path, "F32", template, with_base=True)
    compare(tmp_path, "tuned")
    # Merged minus its adapter, and the base's own file with it.
    compare(tmp_path, "base", scale=-1)
    compare(tmp_path, "tuned", "base.gguf", scale=1)
