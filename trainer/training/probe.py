"""Tries a step with the longest rows first, so that running out of memory happens now and not in hours."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trainer.data.lengths import longest
from trainer.libraries.transformers import collated, divide_step, with_used_columns
from trainer.libraries.trl import forget_figures
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure, explain
from trainer.training.disk_budget import state_bytes
from trainer.training.parts.part import training_precision

if TYPE_CHECKING:
    from transformers import Trainer

    from trainer.data.job import Job

OUT_OF_MEMORY = ("out_of_memory_gpu", "out_of_memory_host")
FILE = "probe.json"

# Memory that a step may take beyond the probe: batches differ, and memory fragments.
SPARE_BYTES = 32 << 20


def run(job: Job, trainer: Trainer, columns: tuple[str, ...]) -> None:
    """Tries a forward and backward pass, and an evaluation's forward pass, on the training rows whose lists
    in `columns` are longest.

    While they do not fit, it halves the micro-batch and doubles the accumulation, which keeps the rows of
    every optimizer step, and warns. A resumed run reuses the result. Failure `out_of_memory_*` when a single
    row does not fit. Random state and gradients stay unchanged.
    """
    args = trainer.args
    note = job.folder / FILE
    if job.resume is not None and note.exists():
        found = json.loads(note.read_text(encoding="utf-8"))
        if found.get("workers", 1) == job.rank.world:
            divide_step(trainer, found["per_device_train_batch_size"], found["gradient_accumulation_steps"])
            return
    from trainer.training.random_state import kept_random_state

    asked = args.per_device_train_batch_size
    rows = longest(trainer.train_dataset, columns, asked)
    size, accumulation = asked, args.gradient_accumulation_steps
    while True:
        job.beat_or_stop()
        with kept_random_state(), _told(job, trainer, rows[:size], columns):
            found = _attempt(trainer, rows[:size])
        # One rank's problem is every rank's: they divide a step alike.
        problems = job.rank.all_gather(None if found is None else found.fields())
        problem = next((Failure(**fields) for fields in problems if fields is not None), None)
        if problem is None:
            break
        _clean_up(trainer)
        if size == 1:
            raise Failure(
                problem.code,
                "The longest row alone does not fit into memory: " + problem.message,
                _advice(job),
                problem.evidence,
            )
        smaller = max(1, size // 2)
        size, accumulation = smaller, accumulation * -(-size // smaller)
    _clean_up(trainer)
    if size != asked:
        job.warn(
            "batch_reduced",
            f"A micro-batch of {asked} of the longest rows does not fit into memory. Hone uses {size} with "
            f"{accumulation} accumulation steps, which gives the same training.",
        )
        divide_step(trainer, size, accumulation)
    if job.rank.first:
        write_json(
            note,
            {
                "workers": job.rank.world,
                "per_device_train_batch_size": size,
                "gradient_accumulation_steps": accumulation,
            },
        )


@contextmanager
def _told(job: Job, trainer: Trainer, rows: list[int], columns: tuple[str, ...]) -> Iterator[None]:
    """Beats at every layer of an attempt with `rows`, and tells how many of their tokens are done."""
    from trainer.training.fit import call_in_layers

    detail = (
        f"one step with the {len(rows):,} longest rows" if len(rows) > 1 else "one step with the longest row"
    )
    job.phase("probe", 0.0, detail)
    report, done = job.reports("probe"), 0

    def passed(tokens: int) -> None:
        nonlocal done
        done += tokens
        job.heartbeat.beat()
        # Whatever else goes through a layer: the attempt is not over.
        report(min(0.99, done / whole), detail)

    hooks = call_in_layers(trainer.model, passed)
    tokens = sum(len(trainer.train_dataset[row][name]) for row in rows for name in columns)
    # Forward and backward, the latter perhaps with a second forward pass, and that of an evaluation.
    passes = 2 + bool(trainer.args.gradient_checkpointing) + (trainer.eval_dataset is not None)
    whole = max(1, passes * len(hooks) * tokens)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _attempt(trainer: Trainer, rows: list[int]) -> Failure | None:
    """None when a step with these training rows fits, otherwise the failure."""
    import torch

    model = trainer.model
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    try:
        # Reserves the memory of the optimizer's state. Not written to: limits and GPUs count allocations, and
        # touching every page takes time.
        size = trained * state_bytes(trainer.args.optim) + SPARE_BYTES
        kept = torch.empty(size, dtype=torch.uint8, device=model.device)
        batch = collated(trainer, [with_used_columns(trainer, trainer.train_dataset[row]) for row in rows])
        model.train()
        with trainer.compute_loss_context_manager(), training_precision(trainer.args):
            loss = trainer.compute_loss(model, dict(batch))
        loss.backward()
        if trainer.eval_dataset is not None:
            model.eval()
            with torch.no_grad(), training_precision(trainer.args):
                trainer.compute_loss(model, dict(batch))
        del kept
        return None
    except Exception as error:
        failure = explain(error)
        if failure.code not in OUT_OF_MEMORY:
            raise
        return failure
    finally:
        model.train()


def _clean_up(trainer: Trainer) -> None:
    """Clears gradients, counters and caches after the probe."""
    import torch

    trainer.model.zero_grad(set_to_none=True)
    forget_figures(trainer)
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _advice(job: Job) -> str:
    """Three settings that reduce memory."""
    settings = job.settings
    ways = []
    whole = settings.adapter == "full"
    if whole:
        ways.append("adapter to lora")
    elif not settings.use_4bit:
        ways.append("use_4bit to true")
    if not settings.gradient_checkpointing:
        ways.append("gradient_checkpointing to true")
    ways.append(f"max_seq_length to half of what it is (now {settings.max_seq_length})")
    ways.append("optim to adafactor" if whole else "lora_r to 8")
    return f"Set {ways[0]}, {ways[1]}, or {ways[2]}; or choose a smaller model."
