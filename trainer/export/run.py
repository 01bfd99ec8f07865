"""The export from top to bottom: merge, convert, quantize, verify, publish."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from trainer.data.template import load as load_template
from trainer.export import adapter as adapters
from trainer.export import node_tools, shared_base, weights
from trainer.export.architectures import verdict
from trainer.export.gguf import converter_input
from trainer.export.gguf.adapter_gguf import write_adapter
from trainer.export.gguf.convert import DIRECT_TYPES, convert
from trainer.export.publish import publish
from trainer.export.shared_base import base_directory, end_of_turn
from trainer.export.tokenizer import options as tokenizer_options
from trainer.export.tokenizer.load import load_tokenizer
from trainer.export.verification.golden import Golden
from trainer.export.verification.sample_texts import sample_texts
from trainer.export.verification.verify import load_reference, verify
from trainer.model.view import make_view
from trainer.protocol.context import JobContext
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped
from trainer.training import disk_budget


def run_export(job: JobContext) -> None:
    """Makes every GGUF that `spec.export` names from the job folder's `trained.json`, `artifacts/adapter/`,
    `artifacts/template.json` and `reference.safetensors`, and ends the journal with `done`.

    No file appears under `artifacts/` before it is complete and verified. A stop leaves the folder as it was;
    the next run starts over. Raises Failure (unsupported, bad_model, bad_tokenizer, disk_full,
    verification_failed, …) and OSError.
    """
    trained = json.loads((job.folder / "trained.json").read_text("utf-8"))
    scratch = job.folder / "export.partial"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        job.beat_or_stop()
        summary = _export(job, scratch, trained)
    except Stopped:
        job.done("stopped", trained["step"], trained["metrics"])
        return
    except OSError as error:
        raise _full_disk(error, job.folder) or error from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    job.done("completed", trained["step"], trained["metrics"], summary)


def _export(job: JobContext, scratch: Path, trained: dict[str, Any]) -> dict[str, Any]:
    """Makes the files in `scratch` and publishes them; returns the `verification` of `done`."""
    spec, config = job.spec, trained["config"]
    if spec.export is None or spec.tools is None or not spec.export.quantizations:
        raise Failure("internal", "The job asks for no GGUF.", "Set export.quantizations.")
    converter = Path(spec.tools.converter)

    job.phase("merge", 0.0, "reading the adapter")
    base = make_view(base_directory(spec), job.folder / "model")
    possible, reason = verdict(config, converter)
    if not possible:
        raise Failure("unsupported", reason, "Choose another model, or set export to none.")
    template = load_template(job.artifacts / "template.json")
    tensors = weights.index_checkpoint(base)
    adapter = adapters.load(job.artifacts / "adapter", tensors, adapters.shares_embedding(config, tensors))
    _check_disk(job, tensors)
    source = scratch / "converter-input"
    source.mkdir()
    converter_input.build(base, source, template, config)
    tokenizer = load_tokenizer(job.artifacts / "adapter")
    job.phase("merge", 1.0, f"{len(adapter.updates)} tensors change")

    convert_model = partial(
        convert,
        converter_dir=converter,
        source=source,
        name=f"{spec.model.name.rsplit('/', 1)[-1]} {spec.job_id}",
        end_of_turn=end_of_turn(template, tokenizer),
    )
    texts, expected = sample_texts(spec, template, tokenizer)

    job.phase("convert", 0.0, "choosing the tokenizer's options")
    options = choose_options(
        spec.tools.score, base, texts, expected, convert_model, scratch, job.beat_or_stop
    )

    def merge_into(destination: Path, quantization: str) -> None:
        convert_model(
            tensors=tensors,
            adapter=adapter,
            destination=destination,
            quantization=quantization,
            options=options,
            on_progress=job.track("convert", f"merging into {quantization}"),
        )

    known = load_reference(job)
    ggufs, results = {}, {}
    intermediate: Path | None = None
    quantizations = list(dict.fromkeys(name.upper() for name in spec.export.quantizations))
    # Types that the converter writes come first: the others are quantized from one of them.
    for name in sorted(quantizations, key=lambda name: name not in DIRECT_TYPES):
        path = scratch / f"model-{name}.gguf"
        if name in DIRECT_TYPES:
            merge_into(path, name)
        else:
            if intermediate is None:
                intermediate = next((ggufs[kind] for kind in ("F32", "F16") if kind in ggufs), None)
            if intermediate is None:
                intermediate = scratch / "intermediate.gguf"
                merge_into(intermediate, lossless_type(tensors))
            progress = job.track("quantize", name)
            node_tools.quantize(spec.tools.quantize, intermediate, path, name, progress, job.beat_or_stop)
        # The first file is the one that the playground answers with.
        golden = None if results else Golden(trained.get("golden", []), trained["step"], template, tokenizer)
        results[name] = verify(job, path, name, known, texts, expected, golden)
        ggufs[name] = path

    adapter_gguf = scratch / "adapter.gguf"
    job.beat_or_stop()
    obstacle = write_adapter(
        converter_dir=converter, source=source, tensors=tensors, adapter=adapter, destination=adapter_gguf
    )
    if obstacle is not None:
        job.warn("no_adapter_gguf", f"The playground cannot compare this model with its base: {obstacle}.")
    job.stop.raise_if_requested()
    if obstacle is None:
        write_json(job.artifacts / shared_base.NOTE, shared_base.note(spec, template, tokenizer))
    return publish(
        job, scratch, ggufs, results, adapter_gguf if obstacle is None else None, template, tokenizer
    )


def choose_options(
    score: list[str],
    base: Path,
    texts: list[str],
    expected: list[list[int]],
    convert_model: Callable[..., None],
    scratch: Path,
    beat: Callable[[], None],
) -> tokenizer_options.TokenizerOptions:
    """The options with which llama.cpp splits most of `texts` into the `expected` tokens.

    `convert_model` is `convert` for this model; it makes vocabularies in `scratch`. `beat` is called often.
    """

    def tokenize(options: tokenizer_options.TokenizerOptions) -> list[list[int]]:
        path = scratch / "vocabulary.gguf"
        convert_model(
            tensors={},
            adapter=adapters.Adapter(),
            destination=path,
            quantization="F32",
            options=options,
            on_progress=lambda share: beat(),
        )
        request = {"gguf": str(path), "vocabularyOnly": True, "sequences": [], "texts": texts}
        return node_tools.score(score, request, beat)["texts"]

    return tokenizer_options.choose(base, expected, tokenize)


def lossless_type(tensors: dict[str, weights.StoredTensor]) -> str:
    """The smallest type that loses nothing between merging and quantizing."""
    stored = {tensor.dtype for tensor in tensors.values() if len(tensor.shape) > 1}
    return "BF16" if stored == {"BF16"} else "F16"


def _check_disk(job: JobContext, tensors: dict[str, weights.StoredTensor]) -> None:
    """Failure `disk_full` before anything is written that cannot be finished."""
    disk = job.spec.disk
    if disk is None:
        return
    count = sum(tensor.size // weights.DTYPE_BYTES[tensor.dtype] for tensor in tensors.values())
    parts = {"GGUF files": disk.export_per_weight * count}
    advice = "(old models and checkpoints, the hub cache), then resume."
    disk_budget.refuse_beyond_free(job.folder, parts, disk.spare_bytes, advice)


def _full_disk(error: OSError, folder: Path) -> Failure | None:
    """Failure `disk_full` for numpy's short write, which has no errno ("n requested and m written")."""
    if error.errno is not None or "requested and" not in str(error):
        return None
    return Failure(
        "disk_full",
        "The disk is full: the model file could not be written to its end.",
        "Free some disk space (old models and checkpoints, the hub cache), then resume.",
        f"{error}; {shutil.disk_usage(folder).free} bytes are free",
    )
