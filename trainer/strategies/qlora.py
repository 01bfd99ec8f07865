"""QLoRA: supervised fine-tuning on a base whose frozen weights are 4-bit; also on a CPU."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trainer.failures import Failure

if TYPE_CHECKING:
    from trainer.job import Job


class Qlora:
    """As `sft`, with 4-bit NormalFloat weights whatever `use_4bit` says."""

    name = "qlora"
    order = 2
    fields = None
    families = ("causal",)
    tasks = ("text-generation", "summarization", "extractive-question-answering")
    providers = ("standard", "accelerated")

    def train(self, job: Job) -> dict[str, Any]:
        """Trains to the end or to a stop: `step`, `stopped`, `metrics`, `model` and `references`."""
        if job.settings.use_8bit:
            raise Failure(
                "unsupported",
                "The strategy qlora trains on 4-bit weights, and use_8bit asks for 8-bit ones.",
                "Leave use_8bit out, or set strategy to sft.",
            )
        settings = dataclasses.replace(job.settings, use_4bit=True)
        job.spec = dataclasses.replace(job.spec, settings=settings)
        return import_module(f"trainer.families.{job.family}").train(job)
