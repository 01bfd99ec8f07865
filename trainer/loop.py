"""The training library's loop as the contract wants it: every step told, every checkpoint whole, every
stop answered. Strategies differ in the trainer class; what happens around a step is the same."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer import budget, checkpoints
from trainer.failures import Failure
from trainer.stop import Stopped

if TYPE_CHECKING:
    from trainer.hardware import Hardware
    from trainer.job import Job

# Without save_steps a checkpoint is made when this much time has passed since the last.
SAVE_SECONDS = 300.0

# Weight of the newest step in the smoothed step time.
SMOOTHING = 0.1

# What a metric line has fields of its own for, or has no use for.
KNOWN = (
    "loss",
    "learning_rate",
    "grad_norm",
    "num_tokens",
    "epoch",
    "num_input_tokens_seen",
    "train_runtime",
    "train_tokens_per_second",
)

# What a schedule needs that the training request has no field for.
SCHEDULE_ARGUMENTS = {
    "cosine_with_min_lr": {"min_lr_rate": 0.1},
    "cosine_warmup_with_min_lr": {"min_lr_rate": 0.1},
}


def arguments(job: Job, hardware: Hardware, train_rows: int, validated: bool) -> dict[str, Any]:
    """The arguments that every trainer of the library takes, from the job's settings.

    `train_rows` is the number of training examples after packing; `validated` whether there is a validation
    part. Failure `unsupported` for settings that cannot work together.
    """
    settings = job.settings
    needs_eval = {
        "keep_best": settings.keep_best,
        "early_stopping_patience": settings.early_stopping_patience is not None,
        f"lr_scheduler_type={settings.lr_scheduler_type}": settings.lr_scheduler_type
        in ("reduce_lr_on_plateau", "greedy"),
    }
    wanting = [name for name, wanted in needs_eval.items() if wanted]
    if wanting and not validated:
        raise Failure(
            "unsupported",
            f"{wanting[0]} judges by the validation part, and eval_split is 0.",
            f"Set eval_split (0.1, say), or leave {wanting[0].partition('=')[0]} out.",
        )
    schedule = dict(SCHEDULE_ARGUMENTS.get(settings.lr_scheduler_type, {}))
    if settings.lr_scheduler_type == "warmup_stable_decay":
        schedule["num_decay_steps"] = max(1, total_steps(settings, train_rows) // 10)
    by_steps = settings.eval_steps is not None
    return {
        "output_dir": str(job.folder / "checkpoints"),
        "num_train_epochs": settings.num_train_epochs,
        "max_steps": settings.max_steps,
        "per_device_train_batch_size": settings.per_device_train_batch_size,
        "per_device_eval_batch_size": settings.per_device_eval_batch_size,
        "gradient_accumulation_steps": settings.gradient_accumulation_steps,
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        # The library takes a number below 1 as a ratio of all steps.
        "warmup_steps": min(settings.warmup_ratio, 1 - 1e-9),
        "lr_scheduler_type": settings.lr_scheduler_type,
        "lr_scheduler_kwargs": schedule,
        "optim": settings.optim,
        "seed": settings.seed,
        "use_cpu": hardware.device == "cpu",
        "bf16": hardware.autocast == "bfloat16",
        "fp16": hardware.autocast == "float16",
        "gradient_checkpointing": hardware.gradient_checkpointing,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
        "logging_strategy": "steps",
        "logging_steps": 1,
        # The library would put an average in the place of a loss that is not finite.
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "steps",
        "save_steps": settings.save_steps or 10**9,
        "save_total_limit": None,
        "eval_strategy": "no" if not validated else "steps" if by_steps else "epoch",
        "eval_steps": settings.eval_steps if validated and by_steps else None,
        "metric_for_best_model": job.strategy_best()[0],
        "greater_is_better": job.strategy_best()[1],
        "dataloader_pin_memory": hardware.device == "cuda",
        "remove_unused_columns": True,
        "average_tokens_across_devices": False,
    }


def total_steps(settings: Any, train_rows: int) -> int:
    """How many optimizer steps the settings make of `train_rows` examples."""
    if settings.max_steps > 0:
        return settings.max_steps
    batches = math.ceil(train_rows / settings.per_device_train_batch_size)
    return math.ceil(settings.num_train_epochs * math.ceil(batches / settings.gradient_accumulation_steps))


def job_trainer(base: type, job: Job) -> type:
    """`base`, a trainer class of the library, with checkpoints of ours and the best one remembered."""

    class JobTrainer(base):
        """Saves aside, syncs, renames, marks. `more_metrics` is called within every evaluation; what it
        returns joins the evaluation's figures."""

        more_metrics: Any = None

        def evaluation_loop(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> Any:
            job.phase("evaluate", None, None)
            output = super().evaluation_loop(*args, metric_key_prefix=metric_key_prefix, **kwargs)
            if self.more_metrics is not None:
                for name, value in self.more_metrics().items():
                    output.metrics[f"{metric_key_prefix}_{name}"] = value
            job.phase("train", self.state.global_step / max(self.state.max_steps, 1), None)
            return output

        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            from transformers.trainer_callback import ExportableState

            folder = Path(self.args.output_dir)
            job.heartbeat.beat()
            written = checkpoints.aside(folder)
            self.save_model(str(written), _internal_call=True)
            self._save_optimizer_and_scheduler(str(written))
            self._save_scaler(str(written))
            self._save_rng_state(str(written))
            for part in [*self.callback_handler.callbacks, self.control]:
                if isinstance(part, ExportableState):
                    self.state.stateful_callbacks[type(part).__name__] = part.state()
            self.state.save_to_json(str(written / "trainer_state.json"))
            step = self.state.global_step
            made = checkpoints.seal(written, folder, step, self.reporter.facts())
            self.reporter.saved(made, self.state)
            checkpoints.prune(folder, job.settings.save_total_limit, self.state.best_global_step)

        def _determine_best_metric(self, metrics: dict[str, float], trial: Any) -> bool:
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


def fit(trainer: Any, job: Job) -> dict[str, Any]:
    """Trains (or goes on from the job's checkpoint) to the end or to a stop.

    Returns `step`, `stopped` (None, `stop` or `signal`) and `metrics`, the last figures. With `keep_best`
    the model then holds the best checkpoint's weights. Raises Failure `loss_not_finite`, and `disk_full`
    before the first step.
    """
    from transformers.trainer_callback import PrinterCallback

    budget.check(job, trainer.model, total_steps(job.settings, len(trainer.train_dataset)))
    trainer.args._n_gpu = min(trainer.args.n_gpu, 1)
    trainer.remove_callback(PrinterCallback)
    reporter = reporter_class()(job, trainer)
    trainer.reporter = reporter
    trainer.add_callback(reporter)
    # A stop in the very last evaluation leaves a run with no step to go, which must not train one more.
    facts = job.resume.facts if job.resume else {}
    finished = bool(facts) and (facts["finished"] or job.resume.step >= facts["total_steps"])
    hooks = beat_in_layers(trainer.model, job)
    try:
        if finished:
            trainer._load_from_checkpoint(str(job.resume.path))
            reporter.take_up_finished(trainer)
        else:
            trainer.train(resume_from_checkpoint=str(job.resume.path) if job.resume else None)
    except Stopped:
        # In the middle of an evaluation: the step before it is whole.
        trainer._save_checkpoint(trainer.model, None)
    finally:
        reporter.close()
        for hook in hooks:
            hook.remove()
    step = trainer.state.global_step
    asked = None if finished else reporter.stop_reason
    best = trainer.state.best_global_step
    if asked is None and job.settings.keep_best and best and best != step:
        kept = checkpoints.complete(Path(trainer.args.output_dir), best)
        if kept is None:
            job.warn("best_lost", f"The best checkpoint (step {best}) is gone; the last weights are kept.")
        else:
            trainer._load_from_checkpoint(str(kept.path))
            reporter.metrics.update(reporter.evaluations.get(best, {}))
            reporter.metrics["best_step"] = best
    return {"step": step, "stopped": asked, "metrics": reporter.metrics}


def beat_in_layers(model: Any, job: Job) -> list[Any]:
    """Beats whenever a layer begins its forward or ends its backward pass: one step of a large model on a
    CPU takes longer than a heartbeat may stay away. Returns the hooks, to be removed."""

    def forward(module: Any, inputs: Any, output: Any) -> None:
        job.heartbeat.beat()
        first = output[0] if isinstance(output, tuple) else output
        if getattr(first, "requires_grad", False):
            first.register_hook(lambda gradient: job.heartbeat.beat())

    lists = [module for module in model.modules() if type(module).__name__ == "ModuleList"]
    return [layer.register_forward_hook(forward) for layers in lists for layer in layers]


def reporter_class() -> type:
    """The callback class; made inside a function because its base needs torch."""
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        """Writes the journal and TensorBoard, beats, looks for a stop, and times."""

        def __init__(self, job: Job, trainer: Any) -> None:
            facts = job.resume.facts if job.resume else {}
            self.job = job
            self.trainer = trainer
            self.tokens_before = int(facts.get("tokens", 0))
            self.elapsed_before = float(facts.get("elapsed_seconds", 0.0))
            self.tokens = self.tokens_before
            self.stop_reason: str | None = None
            self.ended_early = False
            self.metrics: dict[str, Any] = {}
            self.evaluations: dict[int, dict[str, Any]] = {}
            self.step_seconds: float | None = None
            self.tokens_per_step: float | None = None
            self.started = self.step_started = self.last_save = time.monotonic()
            self.board: Any = None

        def facts(self) -> dict[str, Any]:
            """What a checkpoint carries so that a resumed run counts on."""
            return {
                "tokens": self.tokens,
                "elapsed_seconds": self._elapsed(),
                "total_steps": self.trainer.state.max_steps,
                "finished": self._finished(self.trainer.state) and self.stop_reason is None,
                "metrics": self.metrics,
                "evaluations": {str(step): metrics for step, metrics in self.evaluations.items()},
            }

        def saved(self, checkpoint: checkpoints.Checkpoint, state: Any) -> None:
            """Tells of a checkpoint."""
            self.last_save = time.monotonic()
            reason = self.stop_reason or ("end" if self._finished(state) else "interval")
            self.job.journal.write(
                "checkpoint",
                step=checkpoint.step,
                path=checkpoint.path.relative_to(self.job.folder).as_posix(),
                reason=reason,
                best=state.best_global_step == checkpoint.step,
            )

        def take_up_finished(self, trainer: Any) -> None:
            """Sets the state of a run whose last step was saved but that did not get further."""
            from transformers import TrainerState

            facts = self.job.resume.facts
            trainer.state = TrainerState.load_from_json(str(self.job.resume.path / "trainer_state.json"))
            self.metrics = facts["metrics"]
            self.evaluations = {int(step): metrics for step, metrics in facts["evaluations"].items()}

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.job.phase("train", state.global_step / max(state.max_steps, 1), None)
            self.started = self.last_save = time.monotonic()
            if self.job.resume:
                facts = self.job.resume.facts
                self.metrics = dict(facts.get("metrics", {}))
                self.evaluations = {int(k): v for k, v in facts.get("evaluations", {}).items()}
            self._open_board(state)

        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.job.heartbeat.beat()
            self.step_started = time.monotonic()

        def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.job.heartbeat.beat()

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.job.heartbeat.beat()
            seconds = time.monotonic() - self.step_started
            self.step_seconds = _smooth(self.step_seconds, seconds)
            if self.job.settings.save_steps is None and time.monotonic() - self.last_save > SAVE_SECONDS:
                control.should_save = True
            self.stop_reason = self.job.stop.reason()
            if self.stop_reason:
                control.should_training_stop = True
                control.should_save = True

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **kwargs: Any) -> None:
            if "loss" not in logs:
                return
            # TRL counts from where this process began, transformers over the whole run.
            tokens = int(logs.get("num_input_tokens_seen", self.tokens_before + logs.get("num_tokens", 0)))
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
                "extra": _extra(logs, KNOWN),
            }
            self.job.journal.write("metric", **line)
            self._to_board("train", {**line, **line["extra"]}, state.global_step)
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

        def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.job.heartbeat.beat()
            self.stop_reason = self.stop_reason or self.job.stop.reason()
            if self.stop_reason:
                raise Stopped

        def on_evaluate(
            self, args: Any, state: Any, control: Any, metrics: dict[str, Any], **kwargs: Any
        ) -> None:
            kept = {
                name if name == "eval_loss" else name.removeprefix("eval_"): float(value)
                for name, value in metrics.items()
                if isinstance(value, (int, float))
                and not name.endswith(("_per_second", "runtime", "num_tokens"))
            }
            kept.pop("epoch", None)
            writes = self.job.family != "extractive" and self.job.strategy.fields is None
            if writes and "eval_loss" in kept:
                kept["perplexity"] = math.exp(min(kept["eval_loss"], 700.0))
            self.job.journal.write(
                "eval", step=state.global_step, epoch=float(state.epoch or 0), metrics=kept
            )
            self._to_board("eval", kept, state.global_step)
            self.evaluations[state.global_step] = kept
            self.metrics.update(kept)

        def close(self) -> None:
            """Ends the TensorBoard log; the hyper-parameters go in with the last figures."""
            if self.board is not None:
                self.board.close()
                self.board = None

        def _finished(self, state: Any) -> bool:
            return self.ended_early or 0 < state.max_steps <= state.global_step

        def _elapsed(self) -> float:
            return self.elapsed_before + time.monotonic() - self.started

        def _total_epochs(self, state: Any) -> float:
            settings = self.job.settings
            return float(settings.num_train_epochs if settings.max_steps < 0 else state.num_train_epochs)

        def _open_board(self, state: Any) -> None:
            if self.job.spec.tensorboard_dir is None:
                return
            from torch.utils.tensorboard import SummaryWriter
            from torch.utils.tensorboard.summary import hparams

            again = state.global_step + 1 if state.global_step else None
            self.board = SummaryWriter(self.job.spec.tensorboard_dir, purge_step=again)
            spec = self.job.spec
            values = {"task": spec.task, "strategy": spec.strategy, "provider": spec.provider}
            values.update(model=spec.model.name, dataset=spec.dataset.name)
            for name, value in vars(spec.settings).items():
                values[name] = value if isinstance(value, (bool, int, float, str)) else str(value)
            for summary in hparams(values, {"train/loss": 0}):
                self.board._get_file_writer().add_summary(summary)

        def _to_board(self, group: str, values: dict[str, Any], step: int) -> None:
            if self.board is None:
                return
            for name, value in values.items():
                if isinstance(value, (int, float)) and math.isfinite(value) and not name.endswith("step"):
                    self.board.add_scalar(f"{group}/{name}", value, step)

    return Reporter


def _smooth(before: float | None, now: float) -> float:
    return now if before is None else before + SMOOTHING * (now - before)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _extra(logs: dict[str, Any], known: tuple[str, ...]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in logs.items()
        if name not in known and isinstance(value, (int, float))
    }


def _memory_bytes() -> int:
    """What this process holds: of the GPU where there is one, else of the computer's memory."""
    import psutil
    import torch

    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_reserved())
    return int(psutil.Process().memory_info().rss)
