"""GGUF files of architectures that are trained, exported for the very file and merged, and asked."""

from pathlib import Path

import pytest

from trainer.export import node_tools
from trainer.gguf_base import make
from trainer.tests import jobs, tiny
from trainer.tests.architectures import toys
from trainer.tests.export_fixture import TOOLS
from trainer.tests.gguf_base.test_gguf_base import TOYS
from trainer.tests.gguf_base.toy_gguf import split_gguf, write_gguf

# Rounding of the merged file to 16 bits, and llama.cpp's keys and values.
SAME_ANSWER = 0.03
PROMPT = [10, 44, 87, 120, 33, 200, 301, 17]
ASKED = list(range(5, 400, 5))


def train(gguf: Path, folder: Path) -> Path:
    """Trains and exports the GGUF; returns the artifacts."""
    rows = [{"input": question, "output": answer} for question, answer in tiny.sentences(8)]
    model = {"name": str(gguf), "path": str(folder / "cache" / make.key_of(gguf)), "gguf": str(gguf)}
    spec = jobs.make(
        folder / "job",
        "",
        rows,
        {"model": model, "export": {"quantizations": ["F16"], "required": True}, "tools": TOOLS},
        per_device_train_batch_size=8,
        num_train_epochs=4,
        learning_rate=0.05,
    )
    jobs.forked(spec)
    journal = jobs.journal(spec)
    assert journal[-1]["type"] == "done" and journal[-1]["outcome"] == "completed", journal[-1]
    assert journal[-1]["verification"]["passed"] and journal[-1]["verification"]["exact"], journal[-1]
    return folder / "job" / "artifacts"


def answers(gguf: Path, adapter: Path | None = None) -> list[float]:
    """The log-probabilities of tokens after a prompt in llama.cpp."""
    request = {
        "gguf": str(gguf),
        "adapters": [] if adapter is None else [{"path": str(adapter), "scale": 1}],
        "sequences": [{"tokens": PROMPT, "positions": [len(PROMPT) - 1], "ids": [ASKED]}],
        "texts": [],
    }
    return node_tools.score(TOOLS["score"], request, lambda: None)["sequences"][0]["logprobs"][0]


def difference(one: list[float], other: list[float]) -> float:
    return max(abs(left - right) for left, right in zip(one, other, strict=True))


# The one with the most kinds of tensors; each takes half a minute.
QUICK = "gemma4"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.long]) for name in TOYS]
)
def test_the_adapter_on_the_very_file_answers_as_the_merged_file(name, tmp_path):
    gguf = write_gguf(toys.build(name, tmp_path / "base"), tmp_path / "toy.gguf")
    made = train(gguf, tmp_path)
    tuned, merged = answers(gguf, made / "adapter.gguf"), answers(made / "model-F16.gguf")
    assert difference(tuned, merged) <= SAME_ANSWER
    assert difference(tuned, answers(gguf)) > 10 * SAME_ANSWER, "the training changes the answers"
    assert (
        (made / "adapter.Modelfile").read_text("utf-8").startswith(f"FROM {gguf}\nADAPTER ./adapter.gguf\n")
    )


def test_a_split_file_is_trained_as_a_whole_one(tmp_path):
    whole = write_gguf(toys.build("qwen3", tmp_path / "base"), tmp_path / "toy.gguf")
    before = answers(whole)
    first, *others = split_gguf(whole, 9)
    assert len(others) == 2 and not whole.exists()
    assert difference(answers(first), before) == 0
    made = train(first, tmp_path)
    tuned = answers(first, made / "adapter.gguf")
    assert difference(tuned, answers(made / "model-F16.gguf")) <= SAME_ANSWER
    assert difference(tuned, before) > 10 * SAME_ANSWER
    # Ollama reads no split files.
    assert not (made / "adapter.Modelfile").exists()
