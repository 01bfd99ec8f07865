"""One step with the longest rows before the first real one: what does not fit is known now, not in hours."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

from trainer.budget import state_bytes
from trainer.durable import write_json
from trainer.failures import Failure, explain
from trainer.fast.flat import autocast
from trainer.lengths import longest

if TYPE_CHECKING:
    from trainer.job import Job

OUT_OF_MEMORY = ("out_of_memory_gpu", "out_of_memory_host")
FILE = "probe.json"

# What a step may take beyond the one that is tried: batches differ, and memory falls into pieces.
SPARE_BYTES = 32 << 20


def run(job: Job, trainer: Any, columns: tuple[str, ...]) -> None:
    """Tries a forward and backward pass, and an evaluation's forward pass, on the training rows whose lists
    in `columns` are longest.

    Where they do not fit, the micro-batch is halved and the accumulation doubled until they do, which keeps
    the rows of every optimizer step; that is said in a warning. A resumed run takes what was found before.
    Failure `out_of_memory_*` when a single row does not fit. Random state and gradients are left untouched.
    """
    args = trainer.args
    note = job.folder / FILE
    if job.resume is not None and note.exists():
        found = json.loads(note.read_text(encoding="utf-8"))
        _set(trainer, found["per_device_train_batch_size"], found["gradient_accumulation_steps"])
        return
    job.phase("probe", None, "one step with the longest rows")
    asked = args.per_device_train_batch_size
    rows = longest(trainer.train_dataset, columns, asked)
    size, accumulation = asked, args.gradient_accumulation_steps
    while True:
        job.alive()
        problem = _attempt(trainer, rows[:size])
        if problem is None:
            break
        _tidy(trainer)
        if size == 1:
            raise Failure(
                problem.code,
                "Not even one row of the longest fits into memory: " + problem.message,
                _advice(job),
                problem.evidence,
            )
        smaller = max(1, size // 2)
        size, accumulation = smaller, accumulation * -(-size // smaller)
    _tidy(trainer)
    if size != asked:
        job.warn(
            "batch_reduced",
            f"A micro-batch of {asked} does not fit into memory with the longest rows; {size} with "
            f"{accumulation} accumulation steps is used, which trains the same.",
        )
        _set(trainer, size, accumulation)
    write_json(note, {"per_device_train_batch_size": size, "gradient_accumulation_steps": accumulation})


def _attempt(trainer: Any, rows: list[int]) -> Failure | None:
    """None when a step with these rows of the training part fits, else why not."""
    import torch

    model = trainer.model
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    cpu_state = torch.random.get_rng_state()
    gpu_state = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    try:
        # Held while the step is tried, so that it is there for the optimizer when its turn comes. Not written
        # to: limits and GPUs count what is asked for, and the first touch of each page takes time.
        size = trained * state_bytes(trainer.args.optim) + SPARE_BYTES
        kept = torch.empty(size, dtype=torch.uint8, device=model.device)
        batch = trainer._prepare_inputs(trainer.data_collator([_row(trainer, index) for index in rows]))
        model.train()
        with trainer.compute_loss_context_manager(), _autocast(trainer):
            loss = trainer.compute_loss(model, dict(batch))
        loss.backward()
        if trainer.eval_dataset is not None:
            model.eval()
            with torch.no_grad(), _autocast(trainer):
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
        torch.random.set_rng_state(cpu_state)
        if gpu_state is not None:
            torch.cuda.set_rng_state_all(gpu_state)


def _autocast(trainer: Any) -> Any:
    """The precision that the loop will use: the library puts it around the model only when it trains."""
    args = trainer.args
    return autocast(args.device.type, "bfloat16" if args.bf16 else "float16" if args.fp16 else None)


def _row(trainer: Any, index: int) -> dict[str, Any]:
    """A training row with the fields that the collator takes."""
    row = trainer.train_dataset[index]
    trainer._set_signature_columns_if_needed()
    return {name: value for name, value in row.items() if name in trainer._signature_columns}


def _tidy(trainer: Any) -> None:
    """Takes away what the probe left: gradients, counters, caches."""
    import torch

    trainer.model.zero_grad(set_to_none=True)
    for counts in getattr(trainer, "_metrics", {}).values():
        counts.clear()
    if hasattr(trainer, "_total_train_tokens"):
        trainer._total_train_tokens = 0
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _set(trainer: Any, size: int, accumulation: int) -> None:
    """Divides the optimizer step anew."""
    trainer.args.per_device_train_batch_size = size
    trainer._train_batch_size = size
    trainer.args.gradient_accumulation_steps = accumulation
    trainer.args.per_device_eval_batch_size = min(trainer.args.per_device_eval_batch_size, size)
    trainer.accelerator.gradient_accumulation_steps = accumulation


def _advice(job: Job) -> str:
    """The three settings that would make it fit."""
    settings = job.settings
    ways = []
    if not settings.use_4bit:
        ways.append("use_4bit to true")
    if not settings.gradient_checkpointing:
        ways.append("gradient_checkpointing to true")
    ways.append(f"max_seq_length to half of what it is (it is {settings.max_seq_length})")
    ways.append("lora_r to 8")
    return f"Set {ways[0]}, {ways[1]}, or {ways[2]}; or choose a smaller model."
