"""The verification on real weights: SmolLM2-135M-Instruct. Twenty faults are caught, and right files pass.

`HONE_REAL_RUNS` is how many short runs are made and exported; 50 take about an hour on two cores.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trainer.export import kept
from trainer.export.make import make
from trainer.export.verification import reference
from trainer.gguf_base import make as gguf_base
from trainer.model.config import complete_config
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.tests import export_fixture, jobs
from trainer.tests.export.deliberate_faults import Files, faults

pytestmark = pytest.mark.long

RUNS = int(os.environ.get("HONE_REAL_RUNS", "2"))
TYPES = ("F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "IQ4_XS", "Q3_K_M", "Q2_K")
NAMES = "January February March April May June July August September October November December"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M-Instruct as a folder, from the GGUF that the tests fetch."""
    ready = os.environ.get("HONE_REAL_BASE")
    return Path(ready) if ready else make_base(tmp_path_factory.mktemp("smollm2"))


def make_base(folder: Path) -> Path:
    """Makes the model's folder of its GGUF, as a job does."""
    program = (
        "import { realModel } from './test/real/real-model.ts'; console.log(await realModel('smollm2'));"
    )
    command = ["node", "--import", "tsx", "--input-type=module", "-e", program]
    told = subprocess.run(command, cwd=export_fixture.ROOT, capture_output=True, text=True, check=True)
    gguf = Path(told.stdout.strip())
    model = {"name": gguf.name, "path": str(folder / gguf_base.key_of(gguf)), "gguf": str(gguf)}
    spec = jobs.make(folder / "job", "", top={"model": model, "tools": export_fixture.TOOLS})
    gguf_base.make(JobContext.open(read_spec(spec)))
    return Path(model["path"])


def rows(count: int, seed: int) -> list[dict[str, str]]:
    """Dates in words, and as ISO writes them."""
    chosen = random.Random(seed)
    found = []
    for _ in range(count):
        year, month, day = chosen.randint(1900, 2100), chosen.randint(1, 12), chosen.randint(1, 28)
        text = f"Write the date {NAMES.split()[month - 1]} {day}, {year} in ISO format."
        found.append({"input": text, "output": f"{year}-{month:02}-{day:02}"})
    return found


def trained(model: Any, folder: Path, base: Path, seed: int, types: list[str], length: int) -> Path:
    """A job folder as it is behind a short training of `model`, whose adapter is made anew; returns the path
    of its specification. The steps are plain ones of torch: what is tested is the export."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoTokenizer

    from trainer.data import template

    chosen = random.Random(seed)
    spec = jobs.make(
        folder,
        base,
        rows=rows(24, seed),
        top={"export": {"quantizations": types}, "tools": export_fixture.TOOLS},
    )
    tokenizer = AutoTokenizer.from_pretrained(base)
    template_ = template.choose(tokenizer, json.loads((base / "config.json").read_text()), None)
    torch.manual_seed(seed)
    rank = chosen.choice([4, 8, 16, 32])
    config = LoraConfig(
        r=rank,
        lora_alpha=chosen.choice([rank, 2 * rank, 24]),
        use_rslora=chosen.random() < 0.2,
        target_modules=chosen.choice(["all-linear", ["q_proj", "v_proj"], ["down_proj", "o_proj", "k_proj"]]),
        task_type="CAUSAL_LM",
    )
    tuned = get_peft_model(model, config)
    examples = []
    for row in rows(24, seed):
        texts = {"user": row["input"], "assistant": row["output"]}
        messages = [{"role": role, "content": text} for role, text in texts.items()]
        prompt, completion = template.split(template_, messages)
        start, ids = tokenizer([prompt, prompt + completion], add_special_tokens=False).input_ids
        examples.append((ids, [-100] * len(start) + ids[len(start) :]))
    optimizer = torch.optim.AdamW([weight for weight in tuned.parameters() if weight.requires_grad], 1e-3)
    for step in range(length):
        batch = [examples[(2 * step + at) % 16] for at in range(2)]
        longest = max(len(ids) for ids, _ in batch)
        ids = torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in batch])
        labels = torch.tensor([labels + [-100] * (longest - len(labels)) for _, labels in batch])
        tuned(input_ids=ids, labels=labels, use_cache=False).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    artifacts = folder / "artifacts"
    tuned.save_pretrained(artifacts / "adapter")
    tokenizer.save_pretrained(artifacts / "adapter")
    template.save(template_, "text-generation", artifacts / "template.json")
    kept.gather(read_spec(spec), complete_config(base), [], template_, tokenizer).write(artifacts)
    reference.record(tuned, examples[16:20], artifacts / kept.REFERENCE, lambda done, total: None)
    tuned.unload()
    return spec


@pytest.fixture(scope="module")
def models(base: Path) -> list[Any]:
    """The model in both precisions."""
    import torch
    from transformers import AutoModelForCausalLM

    precisions = (torch.float32, torch.bfloat16)
    return [AutoModelForCausalLM.from_pretrained(base, dtype=dtype) for dtype in precisions]


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_short_run_on_real_weights_is_not_refused(
    base: Path, models: list[Any], tmp_path: Path, seed: int
) -> None:
    model = models[seed % 2]
    types = [TYPES[seed % len(TYPES)], *(["Q4_K_M"] if seed % 10 == 0 else [])]
    length = random.Random(1000 + seed).randint(1, 4)
    spec = trained(model, tmp_path / "job", base, seed, types, length)
    export, verification = make(JobContext.open(read_spec(spec)), types, None)
    assert verification is not None, export
    told = {name: verification[name] for name in ("passed", "exact", "loss", "reference_loss", "files")}
    print(f"run {seed}: {model.dtype}, {length} steps, {json.dumps(told)}", flush=True)
    assert export["state"] == "done" and verification["passed"] and verification["exact"], export
    for path in (tmp_path / "job" / "artifacts").glob("*.gguf"):
        path.unlink()


def test_each_deliberate_fault_is_caught_and_named_on_real_weights(base: Path, tmp_path: Path) -> None:
    adapter, other = tmp_path / "adapter", tmp_path / "other"
    export_fixture.make_adapter(base, adapter)
    export_fixture.make_adapter(base, other, r=2)
    files = Files(tmp_path / "files", base, adapter)
    right, eight = files.write("F16"), files.write("Q8_0")
    cases = faults(files, right, eight, files.quantize(right, "Q4_K_M"), other)
    assert len(cases) >= 20
    found = files.wrong({name: (path, source) for name, (path, source, _) in cases.items()})
    for name, (_, _, told) in cases.items():
        print(f"{name}: {found[name]}", flush=True)
        assert found[name] is not None and told in found[name], f"{name}: {found[name]}"
