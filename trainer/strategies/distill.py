"""Distillation: a student learns to predict what a teacher predicts for the answers in the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.families import causal
from trainer.training.teaching.ask import ask_teacher

if TYPE_CHECKING:
    from trainer.data.job import Job, Trained


class Distill:
    """Like `sft`, with a loss on what the teacher finds likely in place of the labels, or beside them."""

    name = "distill"
    order = 7
    label = "Distillation"
    description = "Learns to predict what a larger or better model, its teacher, predicts for your rows."
    # The rows are the task's own.
    row_shape = None
    families = ("causal",)
    tasks = ("text-generation",)
    providers = ("standard",)
    why_one_worker = "distill asks its teacher in one process"

    def train(self, job: Job) -> Trained:
        """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model` and `references`."""
        return causal.train(job, ask_teacher)
