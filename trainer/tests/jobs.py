"""Makes job folders for tests, as the service makes them, and runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer.protocol.contracts import ROW_SHAPES, Settings
from trainer.tests.tiny import sentences

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "test" / "contract" / "spec.golden.json"


def make(
    folder: Path,
    model: Path | str,
    rows: list[dict] | None = None,
    top: dict | None = None,
    validation: list[dict] | None = None,
    **settings: Any,
) -> Path:
    """A job folder with a specification for a tiny model; returns the path of the specification.

    `validation` are the rows of its validation dataset; `top` replaces fields of the specification itself,
    `settings` those of the training request. Small and quick unless told otherwise: 32 rows, batches of 4, no
    export.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if rows is None:
        rows = [{"input": text, "output": reply} for text, reply in sentences(32)]

    def freeze(name: str, frozen: list[dict]) -> dict[str, Any]:
        path = folder / name
        path.write_text("".join(json.dumps(row) + "\n" for row in frozen), encoding="utf-8")
        shape = shape_of(frozen)
        return {"name": f"uploaded-{name}", "path": str(path), "rows": len(frozen), "shape": shape}

    spec = json.loads(GOLDEN.read_text())
    spec.update(
        job_dir=str(folder),
        model={"name": "tests/tiny", "path": str(model)},
        dataset=freeze("dataset.jsonl", rows),
        validation=None if validation is None else freeze("validation.jsonl", validation),
        export=None,
        tensorboard_dir=None,
        tracking=None,
    )
    spec["tools"]["render"] = ["node", str(ROOT / "dist" / "compare-renderings.js")]
    spec["tools"]["bases"] = None
    spec.update(top or {})
    spec["settings"].update(
        num_train_epochs=1,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=1,
        learning_rate=5e-3,
        max_seq_length=-1,
        lora_r=4,
        lora_alpha=8,
        device="cpu",
        bf16=False,
    )
    unknown = set(settings) - set(Settings.__struct_fields__)
    assert not unknown, unknown
    spec["settings"].update(settings)
    path = folder / "spec.json"
    path.write_text(json.dumps(spec))
    return path


def shape_of(rows: list[dict]) -> str | None:
    """The shape of the first row, if it has one."""
    names = set(rows[0]) if rows else set()
    return next((shape for shape, fields in ROW_SHAPES.items() if names >= set(fields)), None)


def train(spec: Path) -> int:
    """Runs the job in this process and returns its exit status."""
    from trainer.run import run

    return run(str(spec))


def spawn(spec: Path, **environment: str) -> subprocess.Popen:
    """Starts the job as the service does: its own session, the job folder as working directory."""
    with open(spec.parent / "log.txt", "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "trainer", "run", str(spec)],
            cwd=spec.parent,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment},
        )


def fork(spec: Path, work: Callable[[Path], int] = train) -> int:
    """Does `work` (trains the job) in a copy of this process, which has the libraries; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        log = os.open(spec.parent / "log.txt", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        # pytest has replaced these.
        sys.stdout = sys.stderr = os.fdopen(log, "w", buffering=1, encoding="utf-8")
        os._exit(work(spec))
    finally:
        os._exit(99)


def forked(spec: Path, work: Callable[[Path], int] = train) -> int:
    """Like `fork`, but waits for the end and returns the exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(fork(spec, work), 0)[1])


def journal(spec: Path, kind: str | None = None) -> list[dict]:
    """The lines of the job's journal, those of one type when `kind` is given."""
    path = spec.parent / "journal.jsonl"
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [line for line in lines if kind in (None, line["type"])]


def losses(spec: Path) -> dict[int, float]:
    """The loss of every step, a later line replacing an earlier one."""
    return {line["step"]: line["loss"] for line in journal(spec, "metric")}
