"""What every strategy's trainer class has in common: ranks, evaluation, checkpoints, early stopping."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trainer.protocol import checkpoints
from trainer.training.shared_weights import refuse_difference

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.trainer_utils import EvalLoopOutput

    from trainer.data.job import Job
    from trainer.training.generate import PromptAnswers
    from trainer.training.references import References
    from trainer.training.reporter import Reporter


def job_trainer(base: type, job: Job) -> type:
    """A subclass of `base`, a trainer class of the library, that saves checkpoints as Hone does and trains
    with the job's ranks as one process would."""
    from trainer.training.random_state import kept_random_state

    rank = job.rank
    if rank.meets:
        from trainer.training.trainers.ranked_trainer import ranked_trainer

        base = ranked_trainer(base, job)

    class JobTrainer(base):
        """`fit` sets `reporter`, and who makes it sets `answers`, a PromptAnswers, and, where there are
        any, `references`, the References of preference pairs."""

        reporter: Reporter
        answers: PromptAnswers

        references: References | None = None

        def _evaluate(self, *args: object, **kwargs: object) -> dict[str, float]:
            if self.state.global_step > 0:
                return super()._evaluate(*args, **kwargs)
            # That of the base model: the training must be the same as without it.
            with kept_random_state():
                return super()._evaluate(*args, **kwargs)

        def evaluation_loop(
            self, *args: object, metric_key_prefix: str = "eval", **kwargs: object
        ) -> EvalLoopOutput:
            job.phase("evaluate", None, None if self.state.global_step > 0 else "the base model")
            output = super().evaluation_loop(*args, metric_key_prefix=metric_key_prefix, **kwargs)
            for name, value in rank.once(self.answers.in_evaluation).items():
                output.metrics[f"{metric_key_prefix}_{name}"] = value
            job.phase("train", self.state.global_step / max(self.state.max_steps, 1), None)
            return output

        def _save_checkpoint(self, model: PreTrainedModel, trial: object) -> None:
            refuse_difference(rank, self.model)
            states = rank.gather(self.random_state()) if rank.meets else []
            if self.references is not None:
                self.references.share()
            if rank.first:
                self._write_checkpoint(states)
            # The others go on when it is complete.
            rank.tell()
            self.answer_prompts()

        def answer_prompts(self) -> None:
            """Shows the answers to the run's prompts at this step, unless an evaluation did."""
            with kept_random_state():
                rank.once(self.answers.outside_evaluation)

        def _write_checkpoint(self, states: list[bytes]) -> None:
            from transformers.trainer_callback import ExportableState

            folder = Path(self.args.output_dir)
            job.heartbeat.beat()
            written = checkpoints.temporary_folder(folder)
            self.save_model(str(written), _internal_call=True)
            self._save_optimizer_and_scheduler(str(written))
            self._save_scaler(str(written))
            self._save_rng_state(str(written))
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
            checkpoints.prune(folder, job.settings.save_total_limit, self.state.best_global_step)

        def _determine_best_metric(self, metrics: dict[str, float], trial: object) -> bool:
            better = super()._determine_best_metric(metrics, trial)
            if better and job.settings.keep_best:
                self.control.should_save = True
            patience = job.settings.early_stopping_patience
            if patience is not None:
                best = self.state.best_global_step or 0
                judged = self.args.metric_for_best_model
                later = [log for log in self.state.log_history if judged in log and log["step"] > best]
                if len(later) >= patience:
                    self.control.should_training_stop = True
                    self.control.should_save = True
                    self.reporter.ended_early = True
            return better

    return JobTrainer
