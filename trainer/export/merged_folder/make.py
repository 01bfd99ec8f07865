"""Makes the merged folder of a model: merge, write, verify, publish."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from trainer.data import template as templates
from trainer.export import full_precision
from trainer.export.kept import REFERENCE
from trainer.export.merge import trained
from trainer.export.merge.weights import index_checkpoint
from trainer.export.merged_folder import readme
from trainer.export.merged_folder.check import check_predictions, check_weights
from trainer.export.merged_folder.small_files import write_small_files
from trainer.export.merged_folder.weights import bytes_of, main_type, stored_types, write_weights
from trainer.export.new_tokens.grow import grow
from trainer.export.shared_base import base_directory
from trainer.export.verification import reference
from trainer.model import text_part, view
from trainer.model.tokenizer import load_tokenizer
from trainer.protocol.context import JobContext
from trainer.protocol.durable import sync_folder, sync_tree
from trainer.protocol.failures import Failure
from trainer.training import disk_budget

# The folder in a model's.
NAME = "merged"
# It and what it is made in, in the folder of the job.
MADE = "merged.partial"
SEEN = "merged-base"


def make_merged(job: JobContext) -> Path:
    """Writes the merged weights of the model in `job.artifacts` as a folder in the job's, verifies it and
    returns it; `publish_merged` puts it in its place.

    Takes the memory of the largest tensor to write it, and that of the model in 16 bits to verify it. Raises
    Stopped, and Failure as `trainer.export.make.make` does.
    """
    spec, adapter_folder = job.spec, job.artifacts / "adapter"
    job.phase("merge", 0.0, "reading the adapter")
    job.beat_or_stop()
    full = full_precision.directory(spec, job.track("merge", "base model in full precision"))
    seen = grow(view.make_view(full, job.folder / SEEN), spec)
    config = view.read_model_config(seen) or {}
    tensors, adapter = trained.read(adapter_folder, seen, config)
    base_types = stored_types(index_checkpoint(seen))
    types = {name: base_types[name] for name in tensors}
    size = sum(bytes_of(tensor, types[name]) for name, tensor in tensors.items())
    spare = spec.disk.spare_bytes if spec.disk else 0
    advice = "(old models and checkpoints, the hub cache), then export the model again."
    disk_budget.refuse_beyond_free(job.folder, {"merged weights": size}, spare, advice)

    folder = job.folder / MADE
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    dtype = main_type(types, tensors)
    template = templates.load(job.artifacts / "template.json")
    write_small_files(base_directory(spec), seen, folder, dtype, template, load_tokenizer(adapter_folder))
    write_weights(tensors, adapter, types, folder, job.track("merge", f"merged weights in {dtype}"))
    progress = job.track("verify", "comparing every tensor of the merged weights")
    check_weights(folder, tensors, adapter, adapter_folder, types, progress)
    progress = job.track("verify", "the merged weights in transformers")
    divergence = check_predictions(folder, config, _record(job), progress)

    architecture = (config.get("architectures") or ["unknown"])[0]
    auto_class = "AutoModelForCausalLM" if text_part.find(config) is None else "AutoModelForImageTextToText"
    base = spec.model.name.rstrip("/").rsplit("/", 1)[-1]
    text = readme.of_merged(f"{base} {spec.job_id}", base, dtype, architecture, auto_class, divergence)
    (folder / "README.md").write_text(text, "utf-8")
    return folder


def publish_merged(job: JobContext, folder: Path) -> None:
    """Puts what `make_merged` made into its place, instead of an earlier one, and reports it."""
    place = job.artifacts / NAME
    sync_tree(folder)
    if place.exists():
        os.replace(place, job.folder / "former.partial")
    os.replace(folder, place)
    sync_folder(place.parent)
    job.artifact(NAME, place, sum(path.stat().st_size for path in place.iterdir()))


def _record(job: JobContext) -> reference.Reference:
    """What the trained model predicts; empty where that is not known."""
    path = job.artifacts / REFERENCE
    try:
        return reference.read(path) if path.is_file() else reference.EMPTY
    except Exception as error:
        raise Failure("internal", f"{REFERENCE} in the model's folder is damaged: {error}.") from error
