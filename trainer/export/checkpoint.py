"""What llama.cpp needs to answer as a run was at one of its checkpoints: the adapter of that checkpoint as a
GGUF, and the base model as a GGUF, which all runs of that base share.

Both are made once, on demand, in a process of their own. The adapter lies in the checkpoint's folder and goes
with it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data import template as templates
from trainer.export import full_precision, learned, node_tools
from trainer.export.gguf import converter_input
from trainer.export.gguf.adapter_gguf import write_adapter
from trainer.export.gguf.convert import DIRECT_TYPES, convert
from trainer.export.make import choose_options, lossless_type
from trainer.export.merge import adapter as adapters
from trainer.export.merge import weights
from trainer.export.publish import move
from trainer.export.shared_base import NOTE, base_type, end_of_turn, note
from trainer.export.verification.sample_texts import sample_texts
from trainer.model import whole
from trainer.model.architectures import verdict
from trainer.model.tokenizer import adds_bos, load_tokenizer
from trainer.model.view import make_view
from trainer.protocol import checkpoints
from trainer.protocol.contracts import Spec, read_spec
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure
from trainer.protocol.print_result import print_result
from trainer.training import disk_budget

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

ADAPTER = "adapter.gguf"


def prepare(
    spec_path: str, step: int | None, template: str, bases: str | None, named: str | None = None
) -> int:
    """Makes what is missing of the adapter of the checkpoint of `step`, if one is given, and of the base, in
    the folder `bases`, if that is given; `named` is the name that its file must get.

    Prints their paths as JSON: `{"adapter": PATH or null, "base": PATH or null}`, and before it lines with
    `{"progress": SHARE}`, how much of the base is made; a failure as `print_result`. Returns the exit status.
    `template` is the path of the run's `template.json`.
    """
    folder = None if bases is None else Path(bases)
    return print_result(lambda: _prepare(read_spec(spec_path), step, Path(template), folder, named))


def _prepare(
    spec: Spec, step: int | None, template: Path, bases: Path | None, named: str | None
) -> dict[str, object]:
    kept = None if step is None else checkpoints.complete(spec.folder / "checkpoints", step)
    if kept is None and step is not None:
        raise Failure("internal", f"The checkpoint of step {step} is incomplete or gone.", "Choose another.")
    if kept is not None and whole.is_whole(kept.path):
        raise Failure("unsupported", "All weights were trained, so there is no adapter beside the base.")
    if kept is not None and (spec.settings.new_tokens or spec.settings.modules_to_save):
        # llama.cpp's adapters change no embeddings.
        raise Failure(
            "unsupported",
            "The checkpoint has embeddings of its own, which no adapter of llama.cpp can have.",
            "Export the model from this checkpoint, and ask the file.",
        )
    if spec.tools is None:
        raise Failure("internal", "The job names no converter.", "Start the training again.")
    converter = Path(spec.tools.converter)
    scratch = spec.folder / "checkpoint.partial"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        full = full_precision.directory(spec, apart=scratch / "full-precision")
        view = make_view(full, scratch / "model")
        config = _config(spec, view)
        possible, reason = verdict(config, converter)
        if not possible:
            raise Failure("unsupported", reason)
        tensors = weights.index_checkpoint(view)
        chosen = templates.load(template)
        unknown = (chosen.normalizer or {}).get("unsupported")
        if unknown is not None:
            raise Failure("unsupported", f"llama.cpp cannot normalize texts with {unknown}.")
        source = scratch / "converter-input"
        source.mkdir()
        converter_input.build(view, source, chosen, config)
        written = None
        if kept is not None and not (kept.path / ADAPTER).exists():
            _check_disk(spec, {"adapter": _adapter_bytes(kept.path)})
            written = _write_adapter(spec, kept.path, source, tensors, config, scratch / ADAPTER)
        base = None if bases is None else _base(spec, bases, named, view, source, chosen, tensors, scratch)
        if written is not None and kept is not None:
            move(written, kept.path / ADAPTER)
        return {
            "adapter": None if kept is None else str(kept.path / ADAPTER),
            "base": None if base is None else str(base),
        }
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write_adapter(
    spec: Spec,
    checkpoint: Path,
    source: Path,
    tensors: dict[str, weights.StoredTensor],
    config: ModelConfig,
    destination: Path,
) -> Path:
    assert spec.tools is not None
    adapter = adapters.load(
        checkpoint, tensors, adapters.shares_embedding(config, tensors), ignore_embeddings=True
    )
    obstacle = write_adapter(
        converter_dir=Path(spec.tools.converter),
        source=source,
        tensors=tensors,
        adapter=adapter,
        destination=destination,
    )
    if obstacle is not None:
        raise Failure("unsupported", f"The checkpoint has no GGUF form: {obstacle}.")
    return destination


def _base(
    spec: Spec,
    bases: Path,
    named: str | None,
    view: Path,
    source: Path,
    chosen: templates.Template,
    tensors: dict[str, weights.StoredTensor],
    scratch: Path,
) -> Path:
    """The base's GGUF in the folder `bases`, made unless it is there; the job folder gets its note."""
    assert spec.tools is not None
    tokenizer = load_tokenizer(view)
    described = note(spec, chosen, tokenizer)
    if named not in (None, described["file"]):
        changed = "The base model's files have changed since the training."
        raise Failure("bad_model", changed, "Train the model again.")
    write_json(spec.folder / NOTE, described)
    base = bases / described["file"]
    if base.exists():
        return base
    wanted = base_type(spec)
    direct = wanted if wanted in DIRECT_TYPES else lossless_type(tensors)
    count = sum(tensor.size // weights.DTYPE_BYTES[tensor.dtype] for tensor in tensors.values())
    # Bytes of a weight: 2 of F16, 34/32 of Q8_0; a smaller type is made of an F16 file.
    _check_disk(spec, {"base": count * (34 / 32 if wanted == "Q8_0" else 2 if direct == wanted else 3)})
    convert_model = partial(
        convert,
        converter_dir=Path(spec.tools.converter),
        source=source,
        name=spec.model.name.rsplit("/", 1)[-1],
        end_of_turn=end_of_turn(chosen, tokenizer),
        adds_bos=adds_bos(tokenizer),
    )
    texts, expected = sample_texts(spec, chosen, tokenizer)
    bases.mkdir(parents=True, exist_ok=True)
    partial_file = base.with_suffix(".partial")
    converted = partial_file if direct == wanted else scratch / "base.gguf"
    try:
        convert_model(
            tensors=tensors,
            adapter=adapters.Adapter(),
            destination=converted,
            quantization=direct,
            options=choose_options(
                spec.tools.score, view, texts, expected, convert_model, scratch, lambda: None
            ),
            on_progress=_progress(0, 1 if direct == wanted else 0.5),
        )
        if direct != wanted:
            node_tools.quantize(
                spec.tools.quantize, converted, partial_file, wanted, _progress(0.5, 1), lambda: None
            )
        return move(partial_file, base)
    finally:
        partial_file.unlink(missing_ok=True)


def _progress(begin: float, end: float) -> Callable[[float], None]:
    """Prints how much is done of all, at most once for each percent, while a part goes from 0 to 1."""
    printed = -1.0

    def report(share: float) -> None:
        nonlocal printed
        done = round(begin + (end - begin) * share, 2)
        if done > printed:
            printed = done
            print(json.dumps({"progress": done}), flush=True)

    return report


def _adapter_bytes(checkpoint: Path) -> float:
    """The adapter is stored as float32 or smaller."""
    return 2 * (checkpoint / "adapter_model.safetensors").stat().st_size


def _check_disk(spec: Spec, parts: dict[str, float]) -> None:
    """Failure `disk_full` unless the parts (bytes) fit beside what is kept free."""
    advice = "(old models and checkpoints, the hub cache), and ask again."
    disk_budget.refuse_beyond_free(spec.folder, parts, spec.disk.spare_bytes if spec.disk else 0, advice)


def _config(spec: Spec, view: Path) -> ModelConfig:
    """The complete configuration of the base, which the end of a training with an export has stored."""
    stored = spec.folder / "trained.json"
    trained = json.loads(stored.read_text("utf-8")) if stored.is_file() else {}
    return trained.get("config") or learned.config(spec.folder, view)
