"""What can be measured on a GPU with Python alone, on a machine without Node: `python gpu.py OUT [PART…]`.

PART is `paths`: every kind of run with a tiny model, from its specification to its adapter, and resumed, with which no tensor
may be on the wrong device; or `llama`: TRL's defaults beside the provider `standard`, plain and with each part of Hone's
own allowed, on a Llama of a billion parameters; or `qwen`: the same on Qwen3-0.6B's shape. OUT gets `results.json`, and a log
of each run that failed. BENCH_DEVICE=cpu tries it all at the smallest size.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent
sys.path.insert(0, str(ROOT))

DEVICE = os.environ.get("BENCH_DEVICE", "cuda")
TINY = DEVICE == "cpu"
STEPS = 4 if TINY else int(os.environ.get("BENCH_STEPS", "40"))
# Of the first steps only the losses are looked at: kernels are chosen, memory is reserved.
UNMEASURED = 2 if TINY else 5
RATE = 1e-3
MOST = int(os.environ.get("BENCH_MOST", "99"))

FUSED, ROWS, LOGITS = "fused layers", "padding-free rows", "logits of learned tokens"
# The parts of ours that a side has.
SIDES = {
    "plain": ["plain"],
    "logits": [LOGITS],
    "fused": [FUSED, LOGITS],
    "rows": [ROWS, LOGITS],
    "all": [FUSED, ROWS, LOGITS],
    "qlora": ["plain"],
}
# What is measured, one after the other, and some twice: the machine may slow down meanwhile.
ORDER = [
    *(
        f"llama: {side}"
        for side in (
            "plain",
            "logits",
            "rows",
            "all",
            "TRL",
            "plain",
            "logits",
            "all",
            "qlora",
        )
    ),
    *(f"qwen: {side}" for side in ("plain", "logits", "TRL", "all")),
    *(
        f"llama: {side}"
        for side in ("plain by 32", "logits by 32", "all by 32", "TRL 4 bits", "fused")
    ),
]

environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
environment |= {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "BENCH_DEVICE": DEVICE,
}


def say(*words: object) -> None:
    print(f"{time.perf_counter() - BEGUN:6.1f} s", *words, flush=True)


def python(
    name: str, *arguments: str, seconds: int = 150, **more: str
) -> tuple[int, str]:
    """Runs Python; returns its exit status and what it printed, which is kept as `name`.log if it failed."""
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A side of a training waits for a line.
            input="\n",
            check=False,
            timeout=seconds,
        )
        code, told = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        code, told = 124, (error.stdout or b"").decode(errors="replace")
    if code != 0:
        (OUT / f"{name.replace(' ', '-')}.log").write_text(
            told[-60_000:], encoding="utf-8"
        )
        say(f"{name} FAILED with {code}:", told[-700:])
    return code, told


def specification(folder: Path, job: str, settings: dict, top: dict) -> Path:
    """That of the training benches (harness/training.ts), with `settings` and other fields `top`."""
    where = folder / job
    where.mkdir(parents=True)
    spec = json.loads(
        (ROOT / "test" / "contract" / "spec.golden.json").read_text(encoding="utf-8")
    )
    spec["settings"] |= {
        "max_steps": STEPS,
        "learning_rate": RATE,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 1,
        "max_seq_length": 1024,
        "warmup_ratio": 0,
        "lr_scheduler_type": "linear",
        "optim": "adamw_torch_fused",
        "device": DEVICE,
    } | settings
    spec |= {
        "job_dir": str(where),
        "model": {"name": "bench/model", "path": str(folder / "model")},
        "dataset": {
            "name": "rows.jsonl",
            "path": str(folder / "rows.jsonl"),
            "rows": 0,
            "shape": "input-output",
        },
        "validation": None,
        "export": None,
        "tensorboard_dir": None,
        "tools": None,
    } | top
    path = where / "spec.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return path


def figures(steps: list[dict]) -> dict:
    """Tokens per second, peak memory in MiB and losses of a side."""
    first, last = steps[UNMEASURED - 1], steps[-1]
    return {
        "tokens_per_second": (last["tokens"] - first["tokens"])
        / (last["at"] - first["at"]),
        "allocated_mib": max(step.get("allocated", 0) for step in steps) / 2**20,
        "reserved_mib": max(step.get("memory", 0) for step in steps) / 2**20,
        "tokens": last["tokens"],
        "losses": [step["loss"] for step in steps],
    }


class Side:
    """A process of gpu_training.py, which imports and then waits."""

    def __init__(self, name: str, *arguments: str) -> None:
        self.name = name
        self.log = (
            Path(tempfile.gettempdir())
            / f"{name.replace(' ', '-').replace(':', '')}.txt"
        )
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAMS / "gpu_training.py"), *arguments],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def measure(self) -> dict | None:
        """Lets it begin; its figures, or None if it fails."""
        try:
            self.process.communicate(b"begin\n", timeout=150)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        told = self.log.read_text(errors="replace")
        if self.process.returncode != 0:
            (OUT / f"{self.log.stem}.log").write_text(told[-60_000:], encoding="utf-8")
            say(f"{self.name} FAILED with {self.process.returncode}:", told[-1500:])
            return None
        found = figures(json.loads(told[told.rstrip().rfind("\n") + 1 :]))
        found["path"] = [
            line
            for line in told.splitlines()
            if " trains on " in line or "loss is" in line
        ]
        brief = {
            key: round(value)
            for key, value in found.items()
            if isinstance(value, (int, float))
        }
        say(
            f"{self.name}",
            brief,
            [round(loss, 4) for loss in found["losses"][:6]],
            found["path"],
        )
        return found


def side_of(number: int, name: str, folder: Path) -> Side:
    """One of ORDER, on the model and the rows in `folder`."""
    kind, _, batch = name.partition(": ")[2].partition(" by ")
    if kind.startswith("TRL"):
        shape = "quantized" if kind.endswith("4 bits") else "input-output"
        arguments = [
            str(folder),
            str(STEPS),
            str(RATE),
            str(folder / f"{number}"),
            shape,
        ]
        return Side(
            f"{number} {name}", "script", str(PROGRAMS / "training_trl.py"), *arguments
        )
    settings: dict = {"per_device_train_batch_size": int(batch)} if batch else {}
    top = {}
    if kind == "qlora":
        settings["use_4bit"] = True
        top["strategy"] = "qlora"
    spec = specification(folder, f"{number}", settings, top)
    return Side(f"{number} {name}", ",".join(SIDES[kind]), str(spec))


MAKE_QWEN = """
import sys, torch, transformers
folder, tiny = sys.argv[1], sys.argv[2] == "True"
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
shape = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, head_dim=16, vocab_size=len(tokenizer)) if tiny else dict(hidden_size=1024,
    intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
    vocab_size=151936)
torch.manual_seed(0)
with torch.device("cpu" if tiny else "cuda"):
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**shape, tie_word_embeddings=True,
        max_position_embeddings=1024, bos_token_id=1, eos_token_id=2, pad_token_id=0))
model.to(torch.bfloat16).save_pretrained(folder)
"""


# Kind of tiny model, task, strategy, settings.
PATHS = {
    "sft": (
        "llama",
        "text-generation",
        "sft",
        {"eval_steps": 4, "save_steps": 4, "keep_best": True},
    ),
    "sft packed": (
        "llama",
        "text-generation",
        "sft",
        {"packing": True, "max_seq_length": 96},
    ),
    "sft qwen3": ("qwen3", "text-generation", "sft", {}),
    "sft gemma3": (
        "gemma3",
        "text-generation",
        "sft",
        {"gradient_accumulation_steps": 2},
    ),
    "sft gpt2": ("gpt2", "text-generation", "sft", {"gradient_checkpointing": False}),
    "sft float16": ("llama", "text-generation", "sft", {"fp16": True, "bf16": None}),
    "sft float32": ("llama", "text-generation", "sft", {"bf16": False}),
    "summaries": ("t5", "summarization", "sft", {}),
    "summaries bart": ("bart", "summarization", "sft", {}),
    "questions": ("bert", "extractive-question-answering", "sft", {}),
    "dpo": ("llama", "text-generation", "dpo", {"save_steps": 4}),
    "rlhf": ("llama", "text-generation", "rlhf", {}),
    "qlora": ("llama", "text-generation", "qlora", {"save_steps": 4}),
    "qlora paged": ("qwen3", "text-generation", "qlora", {"optim": "paged_adamw_8bit"}),
    "qlora dpo": ("llama", "text-generation", "dpo", {"use_4bit": True}),
    "8 bits": ("llama", "text-generation", "sft", {"use_8bit": True}),
}
RESUMED = ("sft", "dpo", "qlora")
# With everything of ours allowed, as it may be one day.
ALLOWED = ("sft", "summaries", "questions", "dpo", "rlhf")


def path(folder: Path, name: str, allowed: bool) -> str | None:
    """Trains a tiny model as the service starts it, evaluates it, and resumes it; returns what failed, or None."""
    from trainer.tests import jobs
    from trainer.tests.training.test_accumulation import rows_of

    kind, task, strategy, settings = PATHS[name]
    way = "allowed " if allowed else ""
    on_gpu = {"fp16": None, "bf16": None} if DEVICE == "cuda" else {"bf16": False}
    settings = {
        key: value
        for key, value in settings.items()
        if DEVICE == "cuda" or key not in ("fp16", "optim")
    }
    rows = rows_of(task, strategy, 40)
    spec = jobs.make(
        folder / f"{way}{name}",
        folder / kind,
        rows[:32],
        {"task": task, "strategy": strategy, "tools": None},
        rows[32:],
        **{
            "device": DEVICE,
            "max_steps": 8,
            "per_device_eval_batch_size": 4,
            **on_gpu,
            **settings,
        },
    )
    command = ["-m", "trainer", "run"]
    if allowed:
        command = [str(PROGRAMS / "gpu_training.py"), ",".join((FUSED, ROWS, LOGITS))]
    code, told = python(f"path {way}{name}", *command, str(spec))
    last = jobs.journal(spec)[-1]
    if code != 0 or last["type"] != "done":
        return f"{last.get('message')} {last.get('evidence', '')[-500:]}"
    warnings = [line["message"] for line in jobs.journal(spec, "warning")]
    said = [
        line
        for line in told.splitlines()
        if " on rows without" in line or "on padded" in line
    ]
    say(
        f"path {way}{name} trained", list(jobs.losses(spec).items())[-1], warnings, said
    )
    problem = "; ".join(warnings) or None
    if strategy == "rlhf":
        return problem
    problem = scored(folder, f"{way}{name}", spec) or problem
    if name in RESUMED and not allowed:
        problem = resumed(name, spec) or problem
    return problem


def scored(folder: Path, name: str, spec: Path) -> str | None:
    """Scores the adapter of a run as the service does; what failed, or None."""
    from trainer.tests import jobs

    content = json.loads(spec.read_text(encoding="utf-8"))
    where = folder / f"{name} scores"
    where.mkdir()
    artifacts = spec.parent / "artifacts"
    content |= {"job_dir": str(where), "validation": None}
    content["dataset"]["rows"] = 32
    (where / "spec.json").write_text(json.dumps(content), encoding="utf-8")
    order = {
        "adapter": str(artifacts / "adapter"),
        "template": str(artifacts / "template.json")
        if (artifacts / "template.json").exists()
        else None,
        "kept_rows": 4,
    }
    (where / "evaluate.json").write_text(json.dumps(order), encoding="utf-8")
    code, _ = python(
        f"scores {name}", "-m", "trainer", "evaluate", str(where / "spec.json")
    )
    last = jobs.journal(where / "spec.json")[-1]
    return (
        None
        if code == 0 and last["type"] == "done"
        else f"scores: {last.get('message')}"
    )


def resumed(name: str, spec: Path) -> str | None:
    """Stops a copy of the run after some steps, goes on, and compares the losses; what failed, or None."""
    import shutil

    from trainer.tests import jobs

    whole = jobs.losses(spec)
    folder = spec.parent.with_name(f"{spec.parent.name} again")
    shutil.copytree(spec.parent, folder)
    content = json.loads(spec.read_text(encoding="utf-8"))
    content["job_dir"] = str(folder)
    (folder / "spec.json").write_text(json.dumps(content), encoding="utf-8")
    # As if it had been killed in step 5 to 8.
    for newer in folder.glob("checkpoints/*-8"):
        shutil.rmtree(newer)
    (folder / "trained.json").unlink()
    shutil.rmtree(folder / "artifacts")
    (folder / "journal.jsonl").unlink()
    code, _ = python(
        f"resumed {name}", "-m", "trainer", "run", str(folder / "spec.json")
    )
    lines = jobs.journal(folder / "spec.json")
    if (
        code != 0
        or lines[-1]["type"] != "done"
        or lines[0].get("resumed_from_step") != 4
    ):
        return (
            f"resumed: {lines[0].get('resumed_from_step')} {lines[-1].get('message')}"
        )
    later = jobs.losses(folder / "spec.json")
    say(f"resumed {name}", {step: (loss, whole[step]) for step, loss in later.items()})
    apart = max(abs(loss - whole[step]) for step, loss in later.items())
    return f"resumed: losses differ by {apart}" if apart > 1e-3 else None


def paths(folder: Path, results: dict) -> None:
    """Every kind of run, several at a time."""
    kinds = {kind for kind, *_ in PATHS.values()}
    with ThreadPoolExecutor(4 if TINY else 12) as pool:
        made = [
            pool.submit(
                python,
                f"tiny {kind}",
                "-m",
                "trainer.tests.tiny",
                kind,
                str(folder / kind),
            )
            for kind in kinds
        ]
        for each in made:
            each.result()
        chosen = [(name, False) for name in PATHS] + [(name, True) for name in ALLOWED]
        chosen = [
            each for each in chosen if DEVICE == "cuda" or each[0] != "qlora paged"
        ]
        found = {each: pool.submit(path, folder, *each) for each in chosen}
    for (name, allowed), future in found.items():
        try:
            problem = future.result()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        results[f"path {'allowed ' if allowed else ''}{name}"] = (
            problem or "as expected"
        )
        say(
            "path",
            "allowed" if allowed else "       ",
            name,
            ":",
            problem or "as expected",
        )


def main() -> None:
    chosen = sys.argv[2:] or ["paths", "llama", "qwen"]
    results: dict = {}
    _, told = python(
        "versions",
        "-c",
        "import torch, transformers, trl, peft, datasets, sys; print(sys.version.split()[0], *[m.__name__ + ' ' + "
        "m.__version__ for m in (torch, transformers, trl, peft, datasets)], "
        "torch.cuda.get_device_name() if torch.cuda.is_available() else 'cpu')",
    )
    results["versions"] = told.strip().splitlines()[-1]
    say(results["versions"])
    scratch = Path(tempfile.mkdtemp(prefix="hone-gpu-"))
    if "paths" in chosen:
        (scratch / "paths").mkdir(parents=True)
        paths(scratch / "paths", results)
        (OUT / "results.json").write_text(
            json.dumps(results, indent=1), encoding="utf-8"
        )
    sides = []
    for number, name in enumerate(ORDER):
        if name.partition(": ")[0] in chosen and number < MOST:
            folder = scratch / name.partition(": ")[0]
            folder.mkdir(parents=True, exist_ok=True)
            sides.append(side_of(number, name, folder))
    for model in ("llama", "qwen"):
        folder = scratch / model
        if not folder.exists():
            continue
        # Qwen's takes the place of a smaller model, with the same rows.
        size = "test" if TINY else "gpu" if model == "llama" else "full"
        python(
            "inputs",
            str(PROGRAMS / "training_inputs.py"),
            str(folder),
            size,
            "input-output",
        )
        if model == "qwen":
            python("qwen", "-c", MAKE_QWEN, str(folder / "model"), str(TINY))
        say("made the inputs of", model)
    for side in sides:
        results[side.name] = side.measure()
        (OUT / "results.json").write_text(
            json.dumps(results, indent=1), encoding="utf-8"
        )


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    BEGUN = time.perf_counter()
    OUT = Path(sys.argv[1]).resolve()
    OUT.mkdir(parents=True, exist_ok=True)
    main()
