"""A model at another strength of its adapter, or as it was at a checkpoint: what of its folder that changes.

What training left is kept in TRAINED, and every choice is made of that.
"""

from __future__ import annotations

import json
import shutil
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data.job import Job
from trainer.export import full_precision
from trainer.export.kept import FILE, IMPORTANCE, REFERENCE
from trainer.export.merge.weights import read_header
from trainer.export.new_tokens.grow import grow, grown
from trainer.export.retention.base_weights import base_beside
from trainer.export.verification import reference
from trainer.model import check, view, whole
from trainer.model.hardware import choose
from trainer.protocol import checkpoints
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure, explain
from trainer.protocol.stop import Stopped
from trainer.registry import create
from trainer.training.fit import call_in_layers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from trainer.protocol.context import JobContext

# The folder in a model's with what training left, while its other files are of something else.
TRAINED = "trained"
WEIGHTS = "adapter_model.safetensors"


def stage(model: Path, into: Path, strength: float, checkpoint: Path | None) -> None:
    """Fills the new folder `into` with what the files of the model in the folder `model` are made of: its
    adapter with the weights of the folder `checkpoint`, if that is given, and at this strength.

    `record_again` is still to be called. Failure when the checkpoint is gone, or the adapter has no strength.
    """
    changes = strength != 1 or checkpoint is not None
    trained = model / TRAINED if (model / TRAINED).is_dir() else model
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    # What matters to a model hardly differs between its checkpoints: the record is not made again.
    for name in ("template.json", FILE, IMPORTANCE):
        if (model / name).is_file():
            shutil.copy2(model / name, into / name)
    for folder in (into, *([into / TRAINED] if changes and trained is model else [])):
        shutil.copytree(trained / "adapter", folder / "adapter")
        if (trained / REFERENCE).is_file():
            shutil.copy2(trained / REFERENCE, folder / REFERENCE)
    if checkpoint is not None:
        _take_weights(checkpoint, into / "adapter")
    if strength != 1:
        _scale(into / "adapter" / "adapter_config.json", strength)


def _take_weights(checkpoint: Path, folder: Path) -> None:
    """Replaces those of the adapter, or of the whole model, in `folder`. A checkpoint may also have frozen
    embeddings, which are left out."""
    from safetensors.torch import load_file, save_file

    step = int(checkpoint.name.removeprefix("checkpoint-"))
    if checkpoints.complete(checkpoint.parent, step) is None:
        raise Failure("internal", f"The checkpoint of step {step} is incomplete or gone.", "Choose another.")
    if whole.is_whole(folder):
        # A checkpoint has the names of the loaded model: `record_again` saves it.
        return
    file, stored = folder / WEIGHTS, load_file(checkpoint / WEIGHTS)
    save_file({name: stored[name] for name in read_header(file)}, file, metadata={"format": "pt"})


def _scale(file: Path, strength: float) -> None:
    """Lets the adapter with the configuration in `file` change `strength` times as much."""
    config = json.loads(file.read_text("utf-8"))
    if config.get("modules_to_save") or config.get("trainable_token_indices"):
        raise Failure(
            "unsupported",
            "The adapter replaces whole tensors or rows of them, which have no strength.",
            "Leave strength out.",
        )
    if config.get("use_dora"):
        raise Failure("unsupported", "A DoRA adapter acts at its full strength only.", "Leave strength out.")
    config["lora_alpha"] *= strength
    patterns = config.get("alpha_pattern") or {}
    config["alpha_pattern"] = {module: alpha * strength for module, alpha in patterns.items()}
    write_json(file, config)


def record_again(context: JobContext, checkpoint: Path | None) -> None:
    """Records the predictions of the model with the staged adapter in place of those of the trained one, if
    these were recorded. What fails here costs the comparison, not the export: it is a warning.

    The whole model of a `checkpoint` is saved first. Raises what that does.
    """
    path, model, job = context.artifacts / REFERENCE, None, None
    if checkpoint is not None and whole.is_whole(checkpoint):
        job = _job(context)
        model = job.provider.base(job.of_folder(checkpoint), choose(job.settings), "AutoModelForCausalLM")
        whole.save(model, job.config, context.artifacts / "adapter")
    if not path.is_file():
        return
    try:
        _record(context, path, job or _job(context), model)
    except Stopped:
        raise
    except Exception as error:
        traceback.print_exc()
        path.unlink(missing_ok=True)
        context.warn("no_reference", f"The answers could not be recorded: {explain(error).message}")


def _job(context: JobContext) -> Job:
    """The job of `context`, with its base model's folder."""
    spec = context.spec
    job = Job(
        spec,
        context.journal,
        context.heartbeat,
        context.stop,
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=None,
    )
    job.provider.prepare(job)
    directory = full_precision.directory(spec, context.track("merge", "reading the base model"))
    job.config = check.read_config(directory, spec.model.name)
    job.model_dir = grow(view.make_view(directory, context.folder / "recorded"), spec)
    job.config = grown(job.config, job.model_dir)
    return job


def _record(context: JobContext, path: Path, job: Job, model: PreTrainedModel | None) -> None:
    """As `record_again`; `model` is a whole one that was staged."""
    from peft import PeftModel

    hardware = choose(job.settings, job.config)
    if model is None:
        base = job.provider.base(job, hardware, "AutoModelForCausalLM")
        model = PeftModel.from_pretrained(base, context.artifacts / "adapter")
    model.to(hardware.device)
    track = context.track("merge", "recording what the model answers with this adapter")
    call_in_layers(model, lambda tokens: context.beat_or_stop())
    rows = list(reference.read(path).rows())
    with base_beside(job, model):
        reference.record(model, rows, path, lambda done, total: track(done / total))
