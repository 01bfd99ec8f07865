"""Makes the model folder of a job whose base model is an adapter, merged into the adapter's own base.

The service names the folder, which is in its cache, by what the files are. It is made once, whole or not at
all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.adapter_base import adapter as adapters
from trainer.adapter_base.small_files import copy_small_files
from trainer.adapter_base.weights import files_of, write_weights
from trainer.export.merge.weights import index_checkpoint
from trainer.model import check, download, view
from trainer.model.quantization import quantized
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import Adapter, Model
from trainer.protocol.durable import whole_folder
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

PHASE = "merge_base"
# What of a folder tells it from others, by the ends of names, and how much of each file
# (src/trainer/merged-folder.ts).
ENDINGS = (".jinja", ".json", ".model", ".safetensors", ".tiktoken", ".txt")
KEY_BYTES = 1 << 20
# Kept free beside the folder.
SPARE_BYTES = 1 << 26


def missing(model: Model) -> bool:
    """Whether the folder of `model` is still to be made of its adapter."""
    return model.adapter is not None and not (Path(model.path or "") / "config.json").is_file()


def make(job: JobContext) -> None:
    """Makes the folder of the job's base model, with phases; does nothing where it is there, or where the
    base is no adapter. A base of the hub must have been downloaded. Raises Failure, and Stopped when a stop
    was requested."""
    model = job.spec.model
    if not missing(model):
        return
    folder = Path(model.path or "")
    adapter = _refuse_changed(model)
    job.phase(PHASE, None, "reading the adapter")
    job.beat_or_stop()
    base = base_directory(adapter)
    with whole_folder(folder, lambda: missing(model)) as aside:
        _fill(job, adapter, base, aside)


def small_files(model: Model, base: Path, folder: Path) -> Path:
    """`folder` with all that the folder of `model` will have but the weights; `base` has the small files of
    its base. Failure for an adapter that cannot be merged."""
    adapter = _refuse_changed(model)
    _check(adapter, base)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    copy_small_files(Path(adapter.path), base, folder)
    return folder


def base_directory(adapter: Adapter) -> Path:
    """The folder of the adapter's base, which is here. Failure `model_not_accessible` when it is gone."""
    if adapter.base_path is None:
        return download.find_downloaded(adapter.base)
    directory = Path(adapter.base_path)
    if not directory.is_dir():
        raise Failure(
            "model_not_accessible",
            f"The base of the adapter is no longer in {directory}.",
            "Put it back, and start again.",
        )
    return directory


def _fill(job: JobContext, adapter: Adapter, base: Path, folder: Path) -> None:
    own = Path(adapter.path)
    config = _check(adapter, base)
    check.check_weights(base, adapter.base)
    copy_small_files(own, base, folder)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        # What reads the base may open what a view has, and nothing else.
        seen = view.make_view(base, Path(scratch) / "base")
        found = adapters.load(own, adapter.path, config, index_checkpoint(seen))
        _check_disk(folder, sum((seen / name).stat().st_size for name in files_of(seen)))
        write_weights(seen, found, folder, job.track(PHASE, f"{len(found.updates)} tensors change"))
    # The exported files say by it which base is the same (`trainer.export.shared_base.identity`).
    time = (own / adapters.WEIGHTS).stat().st_mtime_ns
    for path in folder.iterdir():
        os.utime(path, ns=(time, time))


def _check(adapter: Adapter, base: Path) -> ModelConfig:
    """The configuration of the base; Failure for an adapter or a base that cannot be merged."""
    adapters.read_config(Path(adapter.path), adapter.path)
    check.check_sizes(base, adapter.base)
    config = view.read_model_config(base)
    if config is None:
        raise Failure(
            "bad_model",
            f"{adapter.base}, the base of the adapter, is not a model: it has no valid config.json.",
            "Set base_model_name_or_path in adapter_config.json to the model that it was trained on.",
        )
    method = quantized.method_of(config)
    if method is not None:
        raise Failure(
            "unsupported",
            f"{adapter.base}, the base of the adapter, has its weights stored quantized ({method}): an "
            "adapter cannot be merged into them exactly.",
            "Set base_model_name_or_path in adapter_config.json to the 16-bit version of this model.",
        )
    return config


def _refuse_changed(model: Model) -> Adapter:
    """The adapter; Failure when it or its base are gone, or others than at the start of the job."""
    adapter = model.adapter
    assert adapter is not None
    try:
        key = key_of(adapter)
    except OSError as error:
        raise Failure(
            "model_not_accessible",
            f"The adapter {adapter.path} or its base {adapter.base} is no longer there.",
            "Put the files back.",
            str(error),
        ) from error
    if key != Path(model.path or "").name:
        raise Failure(
            "bad_model",
            f"The adapter {adapter.path} or its base {adapter.base} has changed since the start.",
            "Start the training again.",
        )
    return adapter


def key_of(adapter: Adapter) -> str:
    """What the folder of the merged model is called. A base of the hub is known by its name."""
    digest = hashlib.sha256(b"1\n")
    digest.update(_facts(Path(adapter.path)))
    if adapter.base_path is None:
        digest.update(f"hub {adapter.base}\n".encode())
    elif adapter.base_path != adapter.path:
        digest.update(_facts(Path(adapter.base_path)))
    return digest.hexdigest()[:32]


def _facts(folder: Path) -> bytes:
    """The names, sizes, times and beginnings of a folder's files, in one digest."""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        path = folder / name
        if not name.endswith(ENDINGS) or not path.is_file():
            continue
        facts = path.stat()
        digest.update(f"{name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
        with open(path, "rb") as file:
            digest.update(file.read(KEY_BYTES))
    return digest.digest()


def _check_disk(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed + SPARE_BYTES > free:
        raise Failure(
            "disk_full",
            f"The merged weights take {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free in "
            f"{folder.parent}.",
            "Free some disk space, then start again.",
        )
