"""Supervised fine-tuning: rows of a prompt and an answer, with a loss on the answer only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.data.job import Job, Trained


class Sft:
    """Trains on the task's rows as the model's family does."""

    name = "sft"
    order = 1
    label = "SFT"
    description = "Supervised fine-tuning: learns to answer like your rows. Start with this."
    # The rows are the task's own.
    row_shape = None
    families = ("causal", "seq2seq", "extractive")
    tasks = ("text-generation", "summarization", "extractive-question-answering")
    providers = ("standard", "accelerated")

    def train(self, job: Job) -> Trained:
        """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model` and `references`."""
        return import_module(f"trainer.families.{job.family}").train(job)
