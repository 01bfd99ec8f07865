"""The callback that reports a training: journal, TensorBoard, heartbeat, stop requests, timing.

Imports transformers; import it inside functions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from transformers import TrainerCallback, TrainerState, set_seed

from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped
from trainer.training.tensorboard import TensorBoardLog

if TYPE_CHECKING:
    from transformers import Trainer, TrainerControl, TrainingArguments

    from trainer.data.job import Job
    from trainer.protocol.checkpoints import Checkpoint, Facts

# What rank 0 decides about a step, added up.
SAVE, STOP, SIGNAL = 1, 2, 4

# Without save_steps a checkpoint is made when this much time has passed since the last.
SAVE_SECONDS = 300.0

# Weight of the newest step in the smoothed step time.
SMOOTHING = 0.1

# Logged values that have their own field in a metric line, or are not reported.
KNOWN = (
    "loss",
    "learning_rate",
    "grad_norm",
    "num_tokens",
    "epoch",
    "num_input_tokens_seen",
    "train_runtime",
    "train_tokens_per_second",
    "step_time",
)
# Parts of the names of figures of answers that say nothing: each is trained on once, so no ratio is clipped.
UNTOLD = ("clip_ratio/", "_terminated_")


class Reporter(TrainerCallback):
    """Writes the journal and the TensorBoard log, beats, answers stop requests and measures time."""

    def __init__(self, job: Job, trainer: Trainer) -> None:
        facts: Facts = job.resume.facts if job.resume else {}
        self.job = job
        self.trainer = trainer
        self.tokens_before = int(facts.get("tokens", 0))
        self.elapsed_before = float(facts.get("elapsed_seconds", 0.0))
        self.tokens = self.tokens_before
        self.stop_reason: str | None = None
        self.ended_early = False
        self.metrics: dict[str, float] = {}
        self.evaluations: dict[int, dict[str, float]] = {}
        # Whether an evaluation is of the model that the run goes on from, and the figures of that one.
        self.asks_parent = False
        self._parent: dict[str, float] = {}
        self.step_seconds: float | None = None
        self.tokens_per_step: float | None = None
        self.started = self.step_started = self.last_save = time.monotonic()
        self.board = TensorBoardLog()
        self._batch_evaluated: Callable[[], None] = lambda: None

    def tell_steps(self) -> None:
        """Reports that the steps go on."""
        state = self.trainer.state
        self.job.phase("train", state.global_step / max(state.max_steps, 1), None)

    def evaluating(self, batches: int, rows: int, report: Callable[[float], None]) -> None:
        """Reports the rows of an evaluation that begins with `report` as its batches are done."""
        done = 0

        def evaluated() -> None:
            nonlocal done
            done = min(batches, done + 1)
            report(round(rows * done / max(1, batches)))

        self._batch_evaluated = evaluated

    def facts(self) -> Facts:
        """What a checkpoint stores so that a resumed run continues the counts."""
        return {
            "tokens": self.tokens,
            "elapsed_seconds": self._elapsed(),
            "total_steps": self.trainer.state.max_steps,
            "finished": self._finished(self.trainer.state) and self.stop_reason is None,
            "metrics": self.metrics,
            "evaluations": {str(step): metrics for step, metrics in self.evaluations.items()},
        }

    def checkpoint_saved(self, checkpoint: Checkpoint, state: TrainerState) -> None:
        """Writes the `checkpoint` line."""
        self.last_save = time.monotonic()
        reason = self.stop_reason or ("end" if self._finished(state) else "interval")
        self.job.journal.write(
            "checkpoint",
            step=checkpoint.step,
            path=checkpoint.path.relative_to(self.job.folder).as_posix(),
            reason=reason,
            best=state.best_global_step == checkpoint.step,
        )

    def restore_finished(self) -> None:
        """Restores the state of a run whose last step was saved and that was interrupted after it."""
        resume = self.job.resume
        assert resume is not None
        facts = resume.facts
        self.trainer.state = TrainerState.load_from_json(str(resume.path / "trainer_state.json"))
        self.metrics = facts["metrics"]
        self.evaluations = {int(step): metrics for step, metrics in facts["evaluations"].items()}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        self.tell_steps()
        self.started = self.last_save = time.monotonic()
        if self.job.resume:
            facts = self.job.resume.facts
            self.metrics = dict(facts.get("metrics", {}))
            self.evaluations = {int(k): v for k, v in facts.get("evaluations", {}).items()}
        self.board.open(self.job.spec, state.global_step)
        if state.global_step == 0 and not args.eval_on_start:
            # The base model's answers; with validation rows, its evaluation has them.
            self.trainer.answer_prompts()
        if not self.job.rank.first:
            # Dropout differs between the ranks. A resumed rank's own state is restored afterwards.
            set_seed(self.job.settings.seed + self.job.rank.number)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        self.job.heartbeat.beat()
        self.step_started = time.monotonic()

    def on_substep_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        self.job.heartbeat.beat()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        self.job.heartbeat.beat()
        seconds = time.monotonic() - self.step_started
        self.step_seconds = _smooth(self.step_seconds, seconds)
        due = self.job.settings.save_steps is None and time.monotonic() - self.last_save > SAVE_SECONDS
        share = self.trainer.share_step if self.job.rank.meets else self.job.rank.decide
        if self._decide(due, share):
            control.should_save = True
        if self.stop_reason:
            control.should_training_stop = True
            control.should_save = True

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float],
        **kwargs: object,
    ) -> None:
        if "loss" not in logs:
            return
        # TRL counts pairs from where this process began; transformers, and TRL answers, over the whole run.
        tokens = int(state.num_input_tokens_seen or self.tokens_before + logs.get("num_tokens", 0))
        self.tokens_per_step = _smooth(self.tokens_per_step, tokens - self.tokens)
        self.tokens = tokens
        pace = self.step_seconds
        line = {
            "step": state.global_step,
            "total_steps": state.max_steps,
            "epoch": float(state.epoch or 0),
            "total_epochs": self._total_epochs(state),
            "loss": float(logs["loss"]),
            "learning_rate": _number(logs.get("learning_rate")),
            "grad_norm": _number(logs.get("grad_norm")),
            "tokens": tokens,
            "tokens_per_second": self.tokens_per_step / pace if pace else None,
            "elapsed_seconds": self._elapsed(),
            "eta_seconds": (state.max_steps - state.global_step) * pace if pace else None,
            "memory_bytes": _memory_bytes(),
            "extra": _extra(logs),
        }
        self.job.journal.write("metric", **line)
        self.board.add("train", {**line, **line["extra"]}, state.global_step)
        before, now = self.metrics.get("final_loss"), line["loss"]
        if not math.isfinite(now):
            last = f"the loss before was {before:.4g}" if before is not None else "it was the first step"
            raise Failure(
                "loss_not_finite",
                f"The loss became {now} at step {state.global_step}.",
                f"Lower learning_rate ({self.job.settings.learning_rate:g} now), set max_grad_norm to 1 "
                "and warmup_ratio to 0.05, and use bf16 in place of fp16; then start again.",
                f"Step {state.global_step}: loss {now}, gradient norm {line['grad_norm']}; {last}.",
            )
        self.metrics["final_loss"] = now

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        self.job.heartbeat.beat()
        self._batch_evaluated()
        self._decide(False, self.job.rank.decide)
        if self.stop_reason:
            raise Stopped

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, float],
        **kwargs: object,
    ) -> None:
        kept = {
            name if name == "eval_loss" else name.removeprefix("eval_"): float(value)
            for name, value in metrics.items()
            if isinstance(value, (int, float)) and not name.endswith(("_per_second", "runtime", "num_tokens"))
        }
        kept.pop("epoch", None)
        writes = self.job.family != "extractive" and self.job.strategy.row_shape is None
        if writes and "eval_loss" in kept:
            # The loss of a student (`distill`) is not that of its rows' answers.
            kept["perplexity"] = math.exp(min(kept.get("label_loss", kept["eval_loss"]), 700.0))
        if self.asks_parent:
            self._parent = {f"parent/{name}": value for name, value in kept.items()}
            return
        if state.global_step == 0:
            kept |= self._parent
        self.job.journal.write("eval", step=state.global_step, epoch=float(state.epoch or 0), metrics=kept)
        self.board.add("eval", kept, state.global_step)
        if state.global_step == 0:
            # The base model's, which are not those of the run.
            return
        self.evaluations[state.global_step] = kept
        self.metrics.update(kept)

    @contextmanager
    def of_parent(self) -> Iterator[None]:
        """Within it, an evaluation is of the model that the run goes on from; the next one, of the base,
        tells its figures, too."""
        self.asks_parent = True
        try:
            yield
        finally:
            self.asks_parent = False

    @property
    def first_asked(self) -> str:
        """What answers before the first step."""
        return "parent" if self.asks_parent else "base model"

    def note_stop(self) -> None:
        """Notes a stop request; every rank must call it."""
        self._decide(False, self.job.rank.decide)

    def close(self) -> None:
        """Closes the TensorBoard log."""
        self.board.close()

    def _decide(self, save: bool, share: Callable[[int], int]) -> bool:
        """Notes a stop request, and returns whether to save, both as rank 0 sees it: the clocks of the
        ranks differ, and only rank 0 is asked to stop. `share` returns the number of rank 0."""
        reason = self.stop_reason or self.job.stop.reason()
        decided = share((SAVE if save else 0) + {None: 0, "stop": STOP, "signal": SIGNAL}[reason])
        self.stop_reason = "stop" if decided & STOP else "signal" if decided & SIGNAL else None
        return bool(decided & SAVE)

    def _finished(self, state: TrainerState) -> bool:
        return self.ended_early or 0 < state.max_steps <= state.global_step

    def _elapsed(self) -> float:
        return self.elapsed_before + time.monotonic() - self.started

    def _total_epochs(self, state: TrainerState) -> float:
        settings = self.job.settings
        return float(settings.num_train_epochs if settings.max_steps < 0 else state.num_train_epochs)


def _smooth(before: float | None, now: float) -> float:
    return now if before is None else before + SMOOTHING * (now - before)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _extra(logs: Mapping[str, float]) -> dict[str, float]:
    return {
        name: float(value)
        # Rewards first, as the page shows them.
        for name, value in sorted(logs.items(), key=lambda entry: "reward" not in entry[0])
        if name not in KNOWN and not any(part in name for part in UNTOLD) and isinstance(value, (int, float))
    }


def _memory_bytes() -> int:
    """Memory of this process: on the GPU where there is one, else in RAM."""
    import psutil
    import torch

    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_reserved())
    return int(psutil.Process().memory_info().rss)
