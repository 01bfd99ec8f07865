"""The arguments that every trainer class of the library takes, made from the job's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.data.steps import share_of_step, total_steps
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from trainer.data.job import Job
    from trainer.model.hardware import Hardware

# Arguments of schedulers that the training request has no field for.
SCHEDULE_ARGUMENTS = {
    "cosine_with_min_lr": {"min_lr_rate": 0.1},
    "cosine_warmup_with_min_lr": {"min_lr_rate": 0.1},
}


def router_loss(model: PreTrainedModel) -> float | None:
    """`router_aux_loss_coef`: the loss for the choice of experts counts where the model's configuration asks
    for it, with or without padding. The library's default counts it for every model that could."""
    return None if getattr(model.config.get_text_config(), "output_router_logits", False) else 0.0


def training_arguments(
    job: Job, hardware: Hardware, train_rows: int, validated: bool, prompts: int | None = None
) -> dict[str, object]:
    """Keyword arguments of the library's TrainingArguments, from the job's settings.

    `train_rows` is the number of training examples after packing; `validated` whether there is a validation
    split; `prompts` how many examples a step takes that compares answers. Failure `unsupported` for settings
    that need a validation split that is not there.
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
            f"{wanting[0]} needs validation rows, and there are none.",
            "Set eval_split, for example to 0.1, or validation_dataset, or leave out "
            f"{wanting[0].partition('=')[0]}.",
        )
    schedule = dict(SCHEDULE_ARGUMENTS.get(settings.lr_scheduler_type, {}))
    if settings.lr_scheduler_type == "warmup_stable_decay":
        schedule["num_decay_steps"] = max(1, total_steps(settings, train_rows, prompts) // 10)
    by_steps = settings.eval_steps is not None
    share = share_of_step(settings, job.rank.world)
    # `refuse_workers` has refused other numbers of workers.
    assert share is not None
    size, accumulation = share
    return {
        "output_dir": str(job.folder / "checkpoints"),
        "num_train_epochs": settings.num_train_epochs,
        "max_steps": settings.max_steps,
        "per_device_train_batch_size": size,
        "per_device_eval_batch_size": settings.per_device_eval_batch_size,
        "gradient_accumulation_steps": accumulation,
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        # The library reads a number below 1 as a fraction of all steps.
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
        # Otherwise the library replaces a loss that is not finite by an average.
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "steps",
        "save_steps": settings.save_steps or 10**9,
        "save_total_limit": None,
        "eval_strategy": "no" if not validated else "steps" if by_steps else "epoch",
        "eval_steps": settings.eval_steps if validated and by_steps else None,
        # The base model, for comparison. A run that goes on has measured it.
        "eval_on_start": validated and (job.resume is None or job.resume.step == 0),
        "metric_for_best_model": job.best_metric()[0],
        "greater_is_better": job.best_metric()[1],
        "dataloader_pin_memory": hardware.device == "cuda",
        "remove_unused_columns": True,
        # `job_trainer` does so for every kind of loss.
        "average_tokens_across_devices": False,
        "ddp_find_unused_parameters": False,
    }
