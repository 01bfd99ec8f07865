"""Trains to the end, to an early stop or to a requested one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.libraries.transformers import load_weights, save_now, use_one_gpu
from trainer.protocol import checkpoints
from trainer.protocol.stop import Stopped
from trainer.training import disk_budget

if TYPE_CHECKING:
    from torch.nn import Module
    from torch.utils.hooks import RemovableHandle
    from transformers import PreTrainedModel, Trainer

    from trainer.data.job import Job, Trained


def fit(trainer: Trainer, job: Job) -> Trained:
    """Trains, or resumes from the job's checkpoint, until the end or a stop.

    Returns `step`, `stopped` (None, `stop` or `signal`) and `metrics`, the latest values. With `keep_best`
    the model then has the best checkpoint's weights. Raises Failure `loss_not_finite`, and `disk_full`
    before the first step.
    """
    from transformers.trainer_callback import PrinterCallback

    from trainer.training.reporter import Reporter

    disk_budget.check(job, trainer.model)
    use_one_gpu(trainer)
    trainer.remove_callback(PrinterCallback)
    reporter = Reporter(job, trainer)
    trainer.reporter = reporter
    trainer.add_callback(reporter)
    # A run stopped in its last evaluation has no step left; `train` would still run one.
    finished = False
    if job.resume is not None and job.resume.facts:
        facts = job.resume.facts
        finished = facts["finished"] or job.resume.step >= facts["total_steps"]
    hooks = call_in_layers(trainer.model, lambda tokens: job.heartbeat.beat())
    try:
        if finished and job.resume is not None:
            load_weights(trainer, job.resume.path)
            reporter.restore_finished()
        else:
            trainer.train(resume_from_checkpoint=str(job.resume.path) if job.resume else None)
    except Stopped:
        # Raised during an evaluation: the step before it is complete. There is none before that of the base.
        reporter.note_stop()
        if trainer.state.global_step > 0:
            save_now(trainer)
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
            load_weights(trainer, kept.path)
            reporter.metrics.update(reporter.evaluations.get(best, {}))
            reporter.metrics["best_step"] = best
    return {"step": step, "stopped": asked, "metrics": reporter.metrics}


def call_in_layers(model: PreTrainedModel, passed: Callable[[int], None]) -> list[RemovableHandle]:
    """Calls `passed` at every layer's forward and backward pass, with how many tokens it was of: one step of
    a large model on a CPU takes longer than the heartbeat timeout. Returns the hooks, to be removed: one for
    each layer."""

    def forward(module: Module, inputs: object, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        tokens = first.shape[:-1].numel() if hasattr(first, "shape") else 0
        passed(tokens)
        if getattr(first, "requires_grad", False):
            first.register_hook(lambda gradient: passed(tokens))

    lists = [module for module in model.modules() if type(module).__name__ == "ModuleList"]
    return [layer.register_forward_hook(forward) for layers in lists for layer in layers]
