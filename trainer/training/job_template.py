"""The template of a job: which one, and whether it is to learn the reasoning of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trainer.data import channels, template, thinking
from trainer.data.rows import job_rows
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.data.job import Job

# What a line with reasoning has in it, whatever JSON escapes; only such lines are read.
TAGS = (*(opening for opening, _ in thinking.TAGS), channels.OPENING)
MARKS = (b"reasoning_content", *(tag.encode() for tag in TAGS), b"\\u003c")


def choose_template(job: Job) -> None:
    """Sets the job's template, and warns of reasoning that is not learned."""
    if job.family != "causal":
        job.template = template.plain(job.tokenizer, job.config)
        return
    count = 0 if job.shape == "text" else _rows_with_reasoning(job)
    mode = job.settings.thinking or ("learn" if count else "keep")
    settings = job.settings
    job.template = template.choose(
        job.tokenizer, job.config, settings.use_chat_template, mode, settings.tool_syntax
    )
    if count and mode != "learn" and job.rank.first:
        job.warn(
            "reasoning_dropped",
            f"The reasoning of {count:,} rows is not learned, because thinking is {mode}. Set it to learn, "
            "or leave it out.",
        )
    _refuse_normalizer(job)


def _rows_with_reasoning(job: Job) -> int:
    """How many rows have an answer with reasoning."""
    files = [file.path for file in (job.spec.dataset, job.spec.validation) if file]
    if not any(_has_marks(Path(path)) for path in files):
        return 0
    count = 0
    for number, (_, row) in enumerate(job_rows(job)):
        if number % 1000 == 0:
            job.beat_or_stop()
        count += any(thinking.has_reasoning(message) for message in job.conversation(row))
    return count


def _has_marks(path: Path) -> bool:
    with open(path, "rb") as file:
        return any(mark in line for line in file for mark in MARKS)


def _refuse_normalizer(job: Job) -> None:
    """Drops an export that nobody requested by name where the tokenizer's normalizer cannot be reproduced for
    llama.cpp, with a warning; Failure `unsupported` when it was requested."""
    unknown = (job.template.normalizer or {}).get("unsupported")
    if unknown is None or job.spec.export is None:
        return
    reason = f"The tokenizer normalizes texts with {unknown}, which llama.cpp cannot do."
    if job.spec.export.required:
        raise Failure("unsupported", reason, "Set export to none to train the model without a GGUF.")
    job.spec = msgspec.structs.replace(job.spec, export=None)
    if job.rank.first:
        job.warn("no_gguf", f"This training makes an adapter and no GGUF file. {reason}")
