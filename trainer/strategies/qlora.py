"""QLoRA: supervised fine-tuning with 4-bit base weights, also on a CPU."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from trainer.data.job import Job, Trained


class Qlora:
    """Like `sft`, with 4-bit NormalFloat weights regardless of `use_4bit`."""

    name = "qlora"
    order = 2
    label = "QLoRA"
    description = "SFT with the base model in 4-bit, which takes far less memory."
    # The rows are the task's own.
    row_shape = None
    families = ("causal",)
    tasks = ("text-generation", "summarization", "extractive-question-answering")
    providers = ("standard", "accelerated")

    def train(self, job: Job) -> Trained:
        """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model` and `references`."""
        settings = msgspec.structs.replace(job.settings, use_4bit=True)
        job.spec = msgspec.structs.replace(job.spec, settings=settings)
        return import_module(f"trainer.families.{job.family}").train(job)
