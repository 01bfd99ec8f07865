"""What a rank does: loads tokenizer, template and model, trains, and saves what was trained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from trainer.data import template
from trainer.data.job import Job
from trainer.data.renderings import compare_renderings
from trainer.data.rows import job_rows
from trainer.model import check, download, text_part, vocabulary, whole
from trainer.model.hardware import choose
from trainer.protocol import checkpoints
from trainer.protocol.context import JobContext
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure
from trainer.protocol.rank import Rank
from trainer.registry import create
from trainer.training.job_template import choose_template
from trainer.training.teaching.kept import forget

if TYPE_CHECKING:
    from pathlib import Path

    from trainer.data.job import Trained
    from trainer.protocol.model_config import ModelConfig

# Written after training: a resumed job that has it goes straight to the export.
TRAINED = "trained.json"


def train(job: Job) -> Trained:
    """Loads tokenizer, template and model, and trains, at every rank."""
    load_tokenizer(job)
    if job.rank.meets:
        device = choose(job.settings, job.config).device
        _refuse_devices(job, device)
        job.rank.join(device)
        step = job.rank.broadcast(job.resume.step if job.resume else None)
        if step is not None and not job.rank.first:
            job.resume = checkpoints.complete(job.folder / "checkpoints", step)
    job.phase("load", None, "model")
    job.beat_or_stop()
    return job.strategy.train(job)


def train_along(context: JobContext, rank: Rank) -> None:
    """Trains as a `rank` other than rank 0, which has checked and downloaded everything."""
    spec = msgspec.structs.replace(context.spec, tensorboard_dir=None)
    job = Job(
        **{**vars(context), "spec": spec},
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=None,
        rank=rank,
    )
    download.go_offline()
    job.config = check.read_config(download.find_small_files(job, downloaded=True), spec.model.name)
    job.family = check.family(job.config, job.task, job.strategy)
    job.model_dir = job.folder / "model"
    train(job)


def train_on_node(context: JobContext, rank: Rank, config: ModelConfig, resume: int | None) -> Trained:
    """Trains as a `rank` in a folder of its own, which has the model, the rows and the checkpoint of the step
    `resume`; rank 0 saves the artifacts there."""
    spec = context.spec
    job = Job(
        **vars(context),
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=None if resume is None else checkpoints.complete(context.folder / "checkpoints", resume),
        rank=rank,
    )
    job.config = config
    job.family = check.family(config, job.task, job.strategy)
    job.model_dir = job.folder / "model"
    result = train(job)
    if rank.first and not result["stopped"]:
        save_artifacts(job, result)
    return {"step": result["step"], "stopped": result["stopped"], "metrics": result["metrics"]}


def load_tokenizer(job: Job) -> None:
    """Loads tokenizer and template before the model, because their errors show within a second."""
    job.phase("load", None, "tokenizer")
    job.beat_or_stop()
    job.provider.prepare(job)
    job.tokenizer = job.provider.tokenizer(job)
    vocabulary.check(job.tokenizer, job.config)
    choose_template(job)
    if job.rank.first:
        job.artifacts.mkdir(exist_ok=True)
        stored = job.artifacts / "template.json"
        template.save(job.template, job.spec.task, stored)
        job.phase("load", None, "comparing the rows' text with the playground's")
        compare_renderings(job, job_rows(job), stored)


def save_artifacts(job: Job, result: Trained) -> None:
    """Saves the adapter, or the model of `adapter: full`, with its tokenizer, what an export needs, and
    `trained.json`."""
    adapter = job.artifacts / "adapter"
    if job.settings.adapter == "full":
        whole.save(result["model"], job.config, adapter)
    else:
        _save_adapter(job, result, adapter)
    job.tokenizer.save_pretrained(adapter)
    if job.family == "causal":
        from trainer.export.kept import keep, keep_importance
        from trainer.export.retention.base_weights import base_beside
        from trainer.export.retention.measure import retention

        with base_beside(job, result["model"]):
            keep(job, result)
            keep_importance(job, result)
            result["metrics"].update(retention(job, result))
    size = sum(path.stat().st_size for path in adapter.rglob("*") if path.is_file())
    job.artifact("adapter", adapter, size)
    saved_template = job.artifacts / "template.json"
    job.artifact("template", saved_template, saved_template.stat().st_size)
    write_json(job.folder / TRAINED, {"version": 1, "step": result["step"], "metrics": result["metrics"]})
    forget(job.folder)


def _save_adapter(job: Job, result: Trained, adapter: Path) -> None:
    """Saves the adapter into the folder `adapter`."""
    # Otherwise an adapted output layer is saved with its frozen weights.
    result["model"].save_pretrained(adapter, safe_serialization=True, save_embedding_layers=False)
    # The adapter names its base model, not a folder of this machine.
    (adapter / "README.md").unlink(missing_ok=True)
    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    model = job.spec.model
    # An adapter on a merged base fits neither the base nor the adapter that this was merged of.
    config["base_model_name_or_path"] = model.name if model.adapter is None else model.path
    if text_part.find(job.config) is not None:
        # PEFT's own field for the class that an adapter fits, where the base's files name another.
        base = type(result["model"].get_base_model())
        config["auto_mapping"] = {"base_model_class": base.__name__, "parent_library": base.__module__}
    write_json(adapter / "adapter_config.json", config)


def _refuse_devices(job: Job, device: str) -> None:
    """Failure `unsupported` when the job has more workers than there are GPUs to train on."""
    import torch

    if job.rank.alone:
        return
    settings, devices = job.settings, torch.cuda.device_count()
    if device == "mps":
        raise Failure("unsupported", "One worker alone trains on an Apple GPU.", "Set workers to 1.")
    if device == "cuda" and settings.workers > devices:
        raise Failure(
            "unsupported",
            f"workers is {settings.workers}, and this run has {devices} GPU{'s' if devices > 1 else ''}.",
            f"Set workers to {devices} or less.",
        )
