"""A dataset of many rows starts its first step in the memory that a small one takes.

HONE_ROWS is how many; `npm run test:long` makes them a million, and then every strategy and family is tried.
"""

import json
import os
import subprocess
import sys

import pytest

from trainer.tests import jobs
from trainer.tests.tiny import sentences

ROWS = int(os.environ.get("HONE_ROWS", "30000"))
FEW = 2000
# What a million rows may take beyond what few take.
BYTES_PER_ROW = 1 << 30
MILLION = 1_000_000

# Runs a job and prints the largest resident memory up to the end of its first step, in bytes.
MEASURED = """
import resource, sys
from pathlib import Path
from trainer.tests import jobs
code = jobs.train(Path(sys.argv[1]))
unit = 1 if sys.platform == "darwin" else 1024
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
sys.exit(code)
"""

CASES = {
    "sft": ("llama", "text-generation", "sft", {"eval_split": 0.001, "max_seq_length": 18}),
    "dpo": ("llama", "text-generation", "dpo", {"per_device_train_batch_size": 2}),
    "rlhf": ("llama", "text-generation", "rlhf", {"per_device_train_batch_size": 4}),
    "t5": ("t5", "summarization", "sft", {"max_seq_length": 16}),
    "bert": ("bert", "extractive-question-answering", "sft", {}),
    "packed": ("llama", "text-generation", "sft", {"packing": True, "max_seq_length": 128}),
}


def row_of(case, text, reply):
    if case in ("dpo", "rlhf"):
        return {"prompt": text, "chosen": reply, "rejected": "no"}
    if case == "bert":
        return {"context": f"{text} {reply}", "question": "Which team?", "answer": reply}
    return {"input": text, "output": reply}


def peak(models, folder, case, count):
    """The memory that a job of `count` rows takes to its first step; and its specification."""
    kind, task, strategy, settings = CASES[case]
    top = {"task": task, "strategy": strategy}
    spec = jobs.make(folder, models(kind), [], top=top, max_steps=1, **settings)
    texts = [json.dumps(row_of(case, *pair)) + "\n" for pair in sentences(1000)]
    with open(folder / "dataset.jsonl", "w") as file:
        for number in range(count):
            file.write(texts[number % len(texts)])
    value = json.loads(spec.read_text())
    value["dataset"]["rows"] = count
    spec.write_text(json.dumps(value))
    child = subprocess.run(
        [sys.executable, "-c", MEASURED, str(spec)],
        env={**os.environ, "PYTHONPATH": str(jobs.ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    return int(child.stdout.rpartition("peak ")[2]), spec


@pytest.mark.long
@pytest.mark.parametrize("case", CASES if ROWS >= MILLION else ["sft"])
def test_memory_hardly_grows_with_the_rows(models, tmp_path, case):
    few, _ = peak(models, tmp_path / "few", case, FEW)
    many, spec = peak(models, tmp_path / "many", case, ROWS)
    print(f"{case}: {few >> 20} MiB for {FEW:,} rows, {many >> 20} MiB for {ROWS:,}")
    assert many - few < BYTES_PER_ROW * (ROWS - FEW) / MILLION
    shares = [
        line["progress"]
        for line in jobs.journal(spec, "phase")
        if (line["detail"] or "").startswith("dataset:")
    ]
    assert len(shares) >= ROWS // 20_000 and all(0 < share <= 1 for share in shares)
    (metric,) = jobs.journal(spec, "metric")
    assert metric["step"] == 1 and metric["loss"] > 0
