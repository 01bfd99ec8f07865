"""What llama.cpp needs to answer as a run was at one of its checkpoints: the adapter of that checkpoint as a
GGUF, and for a run without a merged model its base model as a GGUF.

Both are made once, on demand, in a process of their own. The adapter lies in the checkpoint's folder and goes
with it, the base in the job's folder.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from trainer.data import template as templates
from trainer.export import adapter as adapters
from trainer.export import weights
from trainer.export.architectures import verdict
from trainer.export.gguf import converter_input
from trainer.export.gguf.adapter_gguf import write_adapter
from trainer.export.gguf.convert import DIRECT_TYPES, convert
from trainer.export.publish import move
from trainer.export.run import base_directory, choose_options, end_of_turn
from trainer.export.tokenizer.load import load_tokenizer
from trainer.export.verification.sample_texts import sample_texts
from trainer.model.config import complete_config
from trainer.model.view import make_view
from trainer.protocol.contracts import Spec, read_spec
from trainer.protocol.failures import Failure, explain
from trainer.training import checkpoints, disk_budget

ADAPTER = "adapter.gguf"
BASE = "base.gguf"
# Smaller types need a second program; at 8 bits an answer differs little (docs/api.md, Checkpoints).
BASE_TYPE = "Q8_0"


def prepare(spec_path: str, step: int, template: str, with_base: bool) -> int:
    """Makes the files for the checkpoint of `step` and prints their paths as JSON: `{"adapter": PATH, "base":
    PATH or null}`. On failure it prints `{"failed": …}` with the fields of the journal's `failed`, and
    returns exit status 1. `template` is the path of the run's `template.json`.
    """
    try:
        print(json.dumps(_prepare(read_spec(spec_path), step, Path(template), with_base)))
        return 0
    except Exception as error:
        print(json.dumps({"failed": explain(error).fields()}, ensure_ascii=False))
        return 1
    finally:
        sys.stdout.flush()


def _prepare(spec: Spec, step: int, template: Path, with_base: bool) -> dict[str, Any]:
    checkpoint = checkpoints.complete(spec.folder / "checkpoints", step)
    if checkpoint is None:
        raise Failure("internal", f"The checkpoint of step {step} is incomplete or gone.", "Choose another.")
    if spec.tools is None:
        raise Failure("internal", "The job names no converter.", "Start the training again.")
    converter = Path(spec.tools.converter)
    scratch = spec.folder / "checkpoint.partial"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        view = make_view(_present(base_directory(spec)), scratch / "model")
        config = _config(spec, view)
        possible, reason = verdict(config, converter)
        if not possible:
            raise Failure("unsupported", reason)
        tensors = weights.index_checkpoint(view)
        _check_disk(spec, checkpoint.path, tensors if with_base else {})
        adapter = adapters.load(
            checkpoint.path, tensors, adapters.shares_embedding(config, tensors), ignore_embeddings=True
        )
        source = scratch / "converter-input"
        source.mkdir()
        chosen = templates.load(template)
        converter_input.build(view, source, chosen, config)
        written = scratch / ADAPTER
        obstacle = write_adapter(
            converter_dir=converter, source=source, tensors=tensors, adapter=adapter, destination=written
        )
        if obstacle is not None:
            raise Failure("unsupported", f"The checkpoint has no GGUF form: {obstacle}.")
        base = None
        if with_base:
            base = spec.folder / BASE
            tokenizer = load_tokenizer(view)
            convert_model = partial(
                convert,
                converter_dir=converter,
                source=source,
                name=spec.model.name.rsplit("/", 1)[-1],
                end_of_turn=end_of_turn(chosen, tokenizer),
            )
            texts, expected = sample_texts(spec, chosen, tokenizer)
            convert_model(
                tensors=tensors,
                adapter=adapters.Adapter(),
                destination=scratch / BASE,
                quantization=_base_type(spec),
                options=choose_options(
                    spec.tools.score, view, texts, expected, convert_model, scratch, lambda: None
                ),
                on_progress=lambda share: None,
            )
            move(scratch / BASE, base)
        moved = move(written, checkpoint.path / ADAPTER)
        return {"adapter": str(moved), "base": None if base is None else str(base)}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _check_disk(spec: Spec, checkpoint: Path, tensors: dict[str, weights.StoredTensor]) -> None:
    """Failure `disk_full` unless the adapter and a base of `tensors` fit beside what is kept free."""
    count = sum(tensor.size // weights.DTYPE_BYTES[tensor.dtype] for tensor in tensors.values())
    # An F16 weight has 2 bytes, one of Q8_0 34 bytes for 32; the adapter is stored as float32 or smaller.
    parts = {
        "base": count * (2 if _base_type(spec) == "F16" else 34 / 32),
        "adapter": 2 * (checkpoint / "adapter_model.safetensors").stat().st_size,
    }
    advice = "(old models and checkpoints, the hub cache), and ask again."
    disk_budget.refuse_beyond_free(spec.folder, parts, spec.disk.spare_bytes if spec.disk else 0, advice)


def _present(folder: Path) -> Path:
    if not os.path.isdir(folder):
        raise Failure(
            "model_not_accessible", f"The base model is no longer in {folder}.", "Put it back, and ask again."
        )
    return folder


def _config(spec: Spec, view: Path) -> dict[str, Any]:
    """The complete configuration of the base, which the end of a training with an export has stored."""
    stored = spec.folder / "trained.json"
    trained = json.loads(stored.read_text("utf-8")) if stored.is_file() else {}
    return trained.get("config") or complete_config(view)


def _base_type(spec: Spec) -> str:
    """The type of the base: the first of the export's that the converter writes."""
    wanted = [name.upper() for name in spec.export.quantizations] if spec.export else []
    return next((name for name in wanted if name in DIRECT_TYPES), BASE_TYPE)
