"""Makes the model folder of a job whose base model is a GGUF file.

The service names the folder, which is in its cache, by what the file is. It is made once, whole or not at
all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from trainer.export.gguf.header import Header, parts_of, read_header
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import Model, Tools
from trainer.protocol.durable import whole_folder, write_json
from trainer.protocol.failures import Failure

PHASE = "gguf"
# Bytes of the file that, with its size and time, tell it from others, as in
# src/domain/base-models/gguf/gguf-base.ts.
KEY_BYTES = 1 << 20
# Kept free beside the folder.
SPARE_BYTES = 1 << 26


def missing(model: Model) -> bool:
    """Whether the folder of `model` is still to be made of its GGUF."""
    return model.gguf is not None and not (Path(model.path or "") / "config.json").is_file()


def make(job: JobContext) -> None:
    """Makes the folder of the job's base model, with phases; does nothing where it is there, or where the
    base is no GGUF. Raises Failure, and Stopped when a stop was requested."""
    model, tools = job.spec.model, job.spec.tools
    if not missing(model):
        return
    if tools is None:
        raise Failure(
            "dependency_missing", "The converter of llama.cpp is not installed.", "Run `npm start`."
        )
    _load_gguf_package(tools)
    folder = Path(model.path or "")
    header = _open(model)
    job.phase(PHASE, None, "tokenizer")
    job.beat_or_stop()
    with whole_folder(folder, lambda: missing(model)) as aside:
        _fill(job, header, aside, tools)


def small_files(model: Model, folder: Path) -> Path:
    """The folder of `model`; where it is still to be made, `folder` with all but the weights, which takes a
    second and proves nothing."""
    if not missing(model):
        return Path(model.path or "")
    folder.mkdir(parents=True, exist_ok=True)
    _write_small(_open(model), folder)
    return folder


def _fill(job: JobContext, header: Header, folder: Path, tools: Tools) -> None:
    from trainer.gguf_base.proof import prove
    from trainer.gguf_base.tokens import check_tokens
    from trainer.gguf_base.weights import plan_weights, stored_bytes, write_weights

    config = _write_small(header, folder)
    job.phase(PHASE, None, "comparing its tokens with llama.cpp's")
    check_tokens(header, folder, Path(job.spec.dataset.path), tools.score, job.beat_or_stop)
    plan = plan_weights(header, config)
    _check_disk(folder, stored_bytes(header, plan))
    write_weights(header, plan, folder / "model.safetensors", job.track(PHASE, "weights"))
    compared = job.track(PHASE, "comparing the weights with the file's")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        prove(header, folder, Path(tools.converter), Path(scratch), compared)
    # The exported files say by it which base is the same (`trainer.export.shared_base.identity`).
    time = header.path.stat().st_mtime_ns
    for path in folder.iterdir():
        os.utime(path, ns=(time, time))


def _write_small(header: Header, folder: Path) -> dict[str, Any]:
    from trainer.gguf_base.configuration import generation_config, make_config
    from trainer.gguf_base.tokenizer import write_tokenizer

    config = make_config(header)
    write_tokenizer(header, folder)
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", generation_config(header))
    return config


def _open(model: Model) -> Header:
    """The header of the model's file; Failure when it is gone, or another than the request named."""
    path = Path(model.gguf or "")
    gone = next((part for part in parts_of(path) if not part.is_file()), None)
    if gone is not None:
        raise Failure(
            "model_not_accessible", f"The base model {gone} is no longer there.", "Put the file back."
        )
    if key_of(path) != Path(model.path or "").name:
        raise Failure("bad_model", f"{path.name} has changed since the start.", "Start the training again.")
    return read_header(path)


def key_of(path: Path) -> str:
    """What the folder of the GGUF at `path`, of several the first, is called."""
    first, *others = (part.stat() for part in parts_of(path))
    digest = hashlib.sha256(f"1 {first.st_size} {first.st_mtime_ns}\n".encode())
    for facts in others:
        digest.update(f"{facts.st_size} {facts.st_mtime_ns}\n".encode())
    with open(path, "rb") as file:
        digest.update(file.read(KEY_BYTES))
    return digest.hexdigest()[:32]


def _check_disk(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed + SPARE_BYTES > free:
        raise Failure(
            "disk_full",
            f"The weights of the GGUF take {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free in "
            f"{folder.parent}.",
            "Free some disk space, then start again.",
        )


def _load_gguf_package(tools: Tools) -> None:
    """Imports llama.cpp's own `gguf`, which knows more types of tensors than the installed one."""
    from trainer.export.gguf.convert import load_converter

    load_converter(Path(tools.converter))
