"""Supervised fine-tuning: LoRA on rows of a prompt and its answer, loss on the answer alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer.job import Job


class Sft:
    """Trains on the task's own rows, in the way of the model's family."""

    name = "sft"
    order = 1
    fields = None
    families = ("causal", "seq2seq", "extractive")
    tasks = ("text-generation", "summarization", "extractive-question-answering")
    providers = ("standard", "accelerated")

    def train(self, job: Job) -> dict[str, Any]:
        """Trains to the end or to a stop: `step`, `stopped`, `metrics`, `model` and `references`."""
        return import_module(f"trainer.families.{job.family}").train(job)
