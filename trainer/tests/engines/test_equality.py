"""Two and four ranks on this machine against one process: how much their adapters differ.

docs/workers.md explains the bounds and has the same cases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from trainer.tests import jobs
from trainer.tests.tiny import sentences
from trainer.tests.training.test_accumulation import model_without_dropout

pytestmark = pytest.mark.usefixtures("libraries")

# Gradients that are added in another order are rounded otherwise, in float32 by about 1e-7. Adam divides each
# gradient by its size, so rounding counts most where a gradient is near zero. Relative to the largest weight
# of the adapter.
ROUNDING = 5e-4
# bfloat16 rounds to 1/256, and a gradient near zero may get the other sign. Its weight then moves the other
# way: by two learning rates in a step, 8e-2 of the largest weight here.
HALF_ROUNDING = 2e-1
# Relative to the losses.
LOSS_ROUNDING = {ROUNDING: 1e-4, HALF_ROUNDING: 1e-2}

TEXTS = [(text * (1 + number % 3), reply) for number, (text, reply) in enumerate(sentences(37))]
ANSWERS = [{"input": text, "output": reply} for text, reply in TEXTS]
PAIRS = [{"prompt": text, "chosen": reply, "rejected": reply[::-1]} for text, reply in TEXTS[:21]]
SPANS = [{"context": f"{text} The {reply}.", "question": "What?", "answer": reply} for text, reply in TEXTS]
SUMMARY = {"task": "summarization"}
QUESTIONS = {"task": "extractive-question-answering"}
PACKED = {"packing": True, "max_seq_length": 64, "num_train_epochs": 3}
HALF = {"bf16": True, "gradient_checkpointing": True}
VALIDATED = {"eval_split": 0.2}


@dataclass(frozen=True)
class Training:
    """A kind of training: a model of an architecture, rows, and what else is set."""

    model: str
    rows: list[dict[str, Any]]
    top: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    rounding: float = ROUNDING


TRAININGS = {
    "SFT (llama)": Training("llama", ANSWERS, settings={**VALIDATED, "num_train_epochs": 2}),
    "SFT, padded batches (gpt2)": Training("gpt2", ANSWERS),
    "SFT, packed (llama)": Training("llama", ANSWERS, settings=PACKED),
    "SFT, bfloat16 (llama)": Training("llama", ANSWERS, settings=HALF, rounding=HALF_ROUNDING),
    # Its adapter is bfloat16.
    "qlora (llama)": Training("llama", ANSWERS, {"strategy": "qlora"}, rounding=HALF_ROUNDING),
    # In the second epoch the ranks have what others computed in the first.
    "DPO (llama)": Training("llama", PAIRS, {"strategy": "dpo"}, {**VALIDATED, "num_train_epochs": 2}),
    "summarization (t5)": Training("t5", ANSWERS, SUMMARY, VALIDATED),
    "summarization (bart)": Training("bart", ANSWERS, SUMMARY),
    "question answering (bert)": Training("bert", SPANS, QUESTIONS, VALIDATED),
}

# A step of so many rows, as micro-batch × accumulation, for so many ranks. With a micro-batch for each of two
# ranks, both they and one process add two gradients.
SHARES = {(2, 2, 2), (2, 4, 1), (4, 2, 4)}
# What `npm test` compares; the long tests compare all.
SAMPLE = {("SFT (llama)", (2, 2, 2)), ("SFT (llama)", (4, 2, 4)), ("DPO (llama)", (2, 2, 2))}


def is_exact(share: tuple[int, int, int]) -> bool:
    """Whether the ranks add the same gradients in the same order as one process."""
    workers, _, accumulation = share
    return workers == accumulation == 2


def cases():
    for name in TRAININGS:
        for share in sorted(SHARES):
            marks = [] if (name, share) in SAMPLE else [pytest.mark.long]
            label = f"{name}-{share[0]} of {share[1]}x{share[2]}"
            yield pytest.param(name, share, marks=marks, id=label)


def adapter(spec: Path) -> dict[str, torch.Tensor]:
    return load_file(spec.parent / "artifacts/adapter/adapter_model.safetensors")


def difference(one: Path, other: Path) -> float:
    """The largest difference of two adapters' weights, relative to their largest weight."""
    first, second = adapter(one), adapter(other)
    assert set(first) == set(second)
    largest = max(float(value.abs().max()) for value in first.values())
    # It moves every place of a row alike, which no loss sees: what it learns is rounding alone.
    names = [name for name in first if not name.endswith("qa_outputs.bias")]
    return max(float((first[name].float() - second[name].float()).abs().max()) for name in names) / largest


@pytest.mark.parametrize(("name", "share"), list(cases()))
def test_ranks_make_the_adapter_of_one_process(models, tmp_path, equality, name, share):
    """To the bit, or within the rounding of sums in another order. An epoch's last step has rows for some of
    the ranks only."""
    training, (workers, size, accumulation) = TRAININGS[name], share
    model = model_without_dropout(models(training.model), tmp_path / "model")
    specs = []
    for count in (1, workers):
        spec = jobs.make(
            tmp_path / f"workers-{count}",
            model,
            training.rows,
            training.top,
            workers=count,
            # What is dropped out differs between the ranks.
            lora_dropout=0.0,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=accumulation,
            **training.settings,
        )
        assert jobs.forked(spec) == 0, jobs.journal(spec)[-1]
        specs.append(spec)
    found = difference(*specs)
    bound = 0.0 if is_exact(share) else training.rounding
    equality.append((name, workers, f"{size} × {accumulation}", found, bound))
    assert found <= bound
    told = [{name: [line[name] for line in jobs.journal(spec, "metric")] for name in EXACT} for spec in specs]
    assert told[0]["tokens"] == told[1]["tokens"]
    if is_exact(share):
        assert told[0] == told[1]
        losses = [[line["metrics"]["eval_loss"] for line in jobs.journal(spec, "eval")] for spec in specs]
        assert losses[0] == losses[1]
    else:
        assert told[1]["loss"] == pytest.approx(told[0]["loss"], rel=LOSS_ROUNDING[bound])
    # A run of one process has no workers to tell of, and how often progress is told depends on the time.
    untold = ("engine", "phase")
    kinds = [[line["type"] for line in jobs.journal(spec) if line["type"] not in untold] for spec in specs]
    assert kinds[0] == kinds[1], "only rank 0 reports"
    assert not (specs[1].parent / "ranks").exists()


EXACT = ("loss", "learning_rate", "tokens", "grad_norm", "extra")


def test_the_documentation_has_these_cases_with_differences_within_their_bounds():
    text = (jobs.ROOT / "docs" / "workers.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (.+) \| (\d) \| (\d) × (\d) \| (.+) \| (.+) \|$", text, re.MULTILINE)
    documented = set()
    for name, *numbers, found, bound in table:
        share = tuple(int(number) for number in numbers)
        documented.add((name, share))
        if is_exact(share):
            assert (found, bound) == ("none", "none"), (name, share)
        else:
            assert float(bound) == TRAININGS[name].rounding, (name, share)
            assert found == "none" or float(found) <= float(bound), (name, share)
    assert documented == {(name, share) for name in TRAININGS for share in SHARES}
