"""Evaluations, checkpoints and early stopping, as every job has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.libraries.transformers import save_state
from trainer.model.start import without_start
from trainer.protocol import checkpoints
from trainer.training.parts.all_ranks import AllRanks
from trainer.training.parts.part import Part, trainer_class
from trainer.training.shared_weights import refuse_difference

if TYPE_CHECKING:
    from transformers import Trainer
    from transformers.trainer_utils import EvalLoopOutput

    from trainer.data.job import Job
    from trainer.training.generate import PromptAnswers
    from trainer.training.references import References
    from trainer.training.reporter import Reporter


def job_trainer(job: Job, library: type[Trainer], *parts: type) -> type[Any]:
    """The class of a job's trainer: saves checkpoints as Hone does, trains with the job's ranks as one
    process would, and has `parts` after that."""
    ranks = [AllRanks.of(job=job)] if job.rank.meets else []
    return trainer_class(library, Checkpoints.of(job=job), *ranks, *parts)


class Checkpoints(Part):
    """`fit` sets `reporter`, and who makes the trainer sets `answers` and, where there are any, `references`,
    those of preference pairs."""

    job: Job
    reporter: Reporter
    answers: PromptAnswers
    references: References | None = None

    def evaluate_at_step(self, usual: Callable[[], dict[str, float]]) -> dict[str, float]:
        if self.state.global_step > 0:
            return super().evaluate_at_step(usual)
        from trainer.training.random_state import kept_random_state

        goes_on = self.job.spec.start is not None
        # That of the base model: the training must be the same as without it.
        with kept_random_state():
            if goes_on:
                with self.reporter.of_parent():
                    super().evaluate_at_step(usual)
            with without_start(self.model, goes_on):
                return super().evaluate_at_step(usual)

    def evaluation_loop(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> EvalLoopOutput:
        job = self.job
        loader = args[0] if args else kwargs["dataloader"]
        of_base = "" if self.state.global_step > 0 else f"the {self.reporter.first_asked}, "
        report = job.count("evaluate", f"{of_base}row", len(loader.dataset))
        self.reporter.evaluating(len(loader), len(loader.dataset), report)
        output = super().evaluation_loop(*args, metric_key_prefix=metric_key_prefix, **kwargs)
        for name, value in job.rank.once(self.answers.in_evaluation).items():
            output.metrics[f"{metric_key_prefix}_{name}"] = value
        self.reporter.tell_steps()
        return output

    def save_at_step(self, usual: Callable[[], None]) -> None:
        rank = self.job.rank
        refuse_difference(rank, self.model)
        states = rank.all_gather(self.random_state()) if rank.meets else []
        if self.references is not None:
            self.references.share()
        if rank.first:
            self._write_checkpoint(states)
        # The others go on when it is complete.
        rank.broadcast()
        self.answer_prompts()

    def answer_prompts(self) -> None:
        """Shows the answers to the run's prompts at this step, unless an evaluation did."""
        from trainer.training.random_state import kept_random_state

        first = self.state.global_step == 0
        with kept_random_state(), without_start(self.model, first and self.job.spec.start is not None):
            self.job.rank.once(self.answers.outside_evaluation)

    def _write_checkpoint(self, states: list[bytes]) -> None:
        from transformers.trainer_callback import ExportableState

        folder = Path(self.args.output_dir)
        self.job.heartbeat.beat()
        written = checkpoints.temporary_folder(folder)
        save_state(self, written)
        for number, state in enumerate(states):
            (written / f"rng_state_{number}.pth").write_bytes(state)
        if self.references is not None:
            self.references.save(written)
        for part in [*self.callback_handler.callbacks, self.control]:
            if isinstance(part, ExportableState):
                self.state.stateful_callbacks[type(part).__name__] = part.state()
        self.state.save_to_json(str(written / "trainer_state.json"))
        step = self.state.global_step
        made = checkpoints.seal(written, folder, step, self.reporter.facts())
        self.reporter.checkpoint_saved(made, self.state)
        checkpoints.prune(folder, self.job.settings.save_total_limit, self.state.best_global_step)

    def is_better(self, usual: Callable[[], bool]) -> bool:
        better = super().is_better(usual)
        settings = self.job.settings
        if better and settings.keep_best:
            self.control.should_save = True
        patience = settings.early_stopping_patience
        if patience is not None:
            best = self.state.best_global_step or 0
            judged = self.args.metric_for_best_model
            later = [log for log in self.state.log_history if judged in log and log["step"] > best]
            if len(later) >= patience:
                self.control.should_training_stop = True
                self.control.should_save = True
                self.reporter.ended_early = True
        return better
