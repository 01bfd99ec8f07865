"""Makes the GGUF files of a model, from top to bottom: merge, convert, quantize, verify, publish."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from trainer.data.template import Template
from trainer.data.template import load as load_template
from trainer.export import full_precision, kept, learned, node_tools, outcome, shared_base
from trainer.export.companions import (
    has_vision_file,
    write_adapter_gguf,
    write_adapter_readme,
    write_vision_file,
)
from trainer.export.exported_model import Model
from trainer.export.gguf import converter_input
from trainer.export.gguf import vision_file as vision
from trainer.export.gguf.convert import DIRECT_TYPES, convert
from trainer.export.importance.of_model import Importance, importance_of, publish_importance
from trainer.export.kept import Kept
from trainer.export.merge import adapter as adapters
from trainer.export.merge import weights
from trainer.export.merge.trained import read as read_trained
from trainer.export.new_tokens.grow import grow
from trainer.export.outcome import Outcome
from trainer.export.publish import publish
from trainer.export.shared_base import end_of_turn
from trainer.export.tokenizer import options as tokenizer_options
from trainer.export.verification.compare import Figures
from trainer.export.verification.exact import check_files
from trainer.export.verification.golden import Golden
from trainer.export.verification.verify import Exact, load_reference, verify
from trainer.model.architectures import verdict
from trainer.model.config import complete_config
from trainer.model.tokenizer import adds_bos, load_tokenizer
from trainer.model.view import make_view
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import IMPORTANCE_QUANTIZATIONS
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped
from trainer.training import disk_budget

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.model_config import ModelConfig


class Summary(TypedDict, total=False):
    """`trained.json`; those of earlier releases have `config` and `golden`."""

    version: int
    step: int | None
    metrics: dict[str, float]
    config: ModelConfig | None
    golden: list[dict[str, object]]


def make(
    job: JobContext, wanted: list[str], trained: Summary | None, adapter_gguf: bool = False
) -> tuple[dict[str, object], dict[str, object] | None]:
    """Makes the files of the types `wanted` and publishes those that are right; returns `export` and
    `verification` of `done`.

    The adapter's GGUF is made where there is none, and if it cannot be, there is a warning. With
    `adapter_gguf` it is asked for: it is made again, with its README, and `export` says what became of it;
    types may then be none.

    `trained` is what the job folder's `trained.json` has, None long after the training: then no prompts are
    answered, and adapter and Modelfile stay as they are. Raises Stopped, and what keeps every file from being
    made: Failure (unsupported, bad_model, bad_tokenizer, disk_full, …), OSError and others.
    """
    scratch = job.folder / "export.partial"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        job.beat_or_stop()
        scratch.mkdir()
        types = list(dict.fromkeys(name.upper() for name in wanted))
        return _make(job, types, scratch, trained, adapter_gguf)
    except OSError as error:
        raise _full_disk(error, job.folder) or error from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        full_precision.remove_copy(job.folder)


def _make(
    job: JobContext, quantizations: list[str], scratch: Path, trained: Summary | None, asks_adapter: bool
) -> tuple[dict[str, object], dict[str, object] | None]:
    if job.spec.tools is None or not (quantizations or asks_adapter):
        raise Failure("internal", "The job asks for no GGUF.", "Name the types to make.")
    model = _read(job, scratch, trained)
    # Types that the converter writes come first: the others are quantized from one of them.
    quantizations = sorted(quantizations, key=lambda name: name not in DIRECT_TYPES)
    step = None if trained is None else trained["step"]
    by_importance = any(name in IMPORTANCE_QUANTIZATIONS for name in quantizations)
    importance = importance_of(model) if by_importance else None
    made = Outcome(importance_tokens=None if importance is None else importance.tokens)
    files = _write_files(model, quantizations, made, importance)
    results = _verify_files(model, files, made, step, importance) if files else {}
    job.beat_or_stop()
    adapter_gguf = None
    if asks_adapter or not (job.artifacts / "adapter.gguf").exists():
        adapter_gguf = _write_adapter(model, made if asks_adapter else None)
    job.stop.raise_if_requested()
    ggufs = {name: files[name] for name in results}
    vision_file = None
    if ggufs and has_vision_file(model) and not (job.artifacts / vision.NAME).exists():
        vision_file = write_vision_file(model)
    adapter_readme = None
    if adapter_gguf is not None and asks_adapter:
        adapter_readme = write_adapter_readme(model)
    verification = publish(
        job,
        scratch,
        ggufs,
        results,
        adapter_gguf,
        adapter_readme,
        vision_file,
        model.template,
        model.tokenizer,
    )
    if importance is not None and files:
        publish_importance(job, importance)
    made.failures = {name: made.failures[name] for name in quantizations}
    return made.fields(), verification


def _write_adapter(model: Model, made: Outcome | None) -> Path | None:
    """The adapter's GGUF, with the note of its base, or None where there can be none: `made` records why, and
    without it a warning tells."""
    path, obstacle = write_adapter_gguf(model)
    if path is not None:
        note = shared_base.note(model.job.spec, model.template, model.tokenizer)
        write_json(model.job.artifacts / shared_base.NOTE, note)
    if made is not None:
        failure = None
        if obstacle is not None:
            advice = "Export the merged weights or a GGUF type instead."
            failure = Failure("unsupported", f"The adapter has no GGUF form: {obstacle}.", advice)
        made.note_form("adapter_gguf", failure)
    elif obstacle is not None and model.adapter.updates:
        # Whoever trained all weights knows that there is no adapter.
        text = f"The playground cannot compare this model with its base: {obstacle}."
        model.job.warn("no_adapter_gguf", text)
    return path


def _read(job: JobContext, scratch: Path, trained: Summary | None) -> Model:
    """Reads base and adapter, and finds out the tokenizer's options."""
    spec, tools = job.spec, job.spec.tools
    assert tools is not None
    converter = Path(tools.converter)
    job.phase("merge", 0.0, "reading the adapter")
    report = job.track("merge", "base model in full precision")
    base = grow(make_view(full_precision.directory(spec, report), job.folder / "model"), spec)
    template = load_template(job.artifacts / "template.json")
    tokenizer = load_tokenizer(job.artifacts / "adapter")
    known = _known(job, base, template, tokenizer, trained)
    config = known.config
    assert config is not None
    possible, reason = verdict(config, converter)
    if not possible:
        raise Failure("unsupported", reason, "Use the adapter with its base model.")
    tensors, adapter = read_trained(job.artifacts / "adapter", base, config)
    _check_disk(job, tensors)
    source = scratch / "converter-input"
    source.mkdir()
    converter_input.build(base, source, template, config)
    job.phase("merge", 1.0, f"{len(adapter.updates) or len(tensors)} tensors change")
    convert_model = partial(
        convert,
        converter_dir=converter,
        source=source,
        name=f"{spec.model.name.rsplit('/', 1)[-1]} {spec.job_id}",
        end_of_turn=end_of_turn(template, tokenizer),
        adds_bos=adds_bos(tokenizer),
    )
    job.phase("convert", 0.0, "choosing the tokenizer's options")
    options = learned.options(job.folder, known.tokens) or choose_options(
        tools.score, base, known.texts, known.tokens, convert_model, scratch, job.beat_or_stop
    )
    made = partial(convert_model, options=options)
    return Model(job, scratch, source, template, tokenizer, known, tensors, adapter, made)


def _write_files(
    model: Model, quantizations: list[str], made: Outcome, importance: Importance | None
) -> dict[str, Path]:
    """Writes a file of each type, small ones by the `importance`; `made` records those that fail."""
    job = model.job
    files: dict[str, Path] = {}

    def merge_into(destination: Path, quantization: str) -> None:
        model.convert(
            tensors=model.tensors,
            adapter=model.adapter,
            destination=destination,
            quantization=quantization,
            on_progress=job.track("convert", f"merging into {quantization}"),
        )

    def write(name: str, path: Path) -> None:
        if name in DIRECT_TYPES:
            merge_into(path, name)
            return
        intermediate = _intermediate(model, files)
        if not intermediate.exists():
            merge_into(intermediate, lossless_type(model.tensors))
        progress = job.track("quantize", name)
        by = importance.path if importance and name in IMPORTANCE_QUANTIZATIONS else None
        node_tools.quantize(model.tools.quantize, intermediate, path, name, progress, job.beat_or_stop, by)

    for name in quantizations:
        path = model.scratch / f"model-{name}.gguf"
        try:
            write(name, path)
            files[name] = path
        except Stopped:
            raise
        except Exception as error:
            path.unlink(missing_ok=True)
            made.note(name, _full_disk(error, job.folder) or error)
    return files


def _intermediate(model: Model, files: dict[str, Path]) -> Path:
    """The file that types are quantized from."""
    return next((files[kind] for kind in ("F32", "F16") if kind in files), model.intermediate)


def _verify_files(
    model: Model, files: dict[str, Path], made: Outcome, step: int | None, importance: Importance | None
) -> dict[str, Figures]:
    """Verifies the files; `made` records what became of each. Returns the figures of those that are right.

    At `step`, if given, the first of them answers the prompts of the training: the playground has it.
    """
    job, known = model.job, model.known
    exact = _check_exactly(model, files, importance)
    reference = load_reference(job)
    results: dict[str, Figures] = {}
    for name, path in files.items():
        golden = None
        if step is not None and not results:
            golden = Golden(known.golden, step, model.template, model.tokenizer)
        try:
            results[name] = verify(job, path, name, reference, known.texts, known.tokens, exact[name], golden)
            made.note(name)
        except Stopped:
            raise
        except Exception as error:
            made.note(name, _full_disk(error, job.folder) or error)
    return results


def _check_exactly(model: Model, files: dict[str, Path], importance: Importance | None) -> dict[str, Exact]:
    """Compares all tensors and metadata of the files with the model's, and of what they were made from."""
    between = _intermediate(model, files)
    kind = next((kind for kind in ("F32", "F16") if files.get(kind) == between), lossless_type(model.tensors))
    # By their paths: the intermediate file may be one of the export.
    checked = {path.name: (path, None if name in DIRECT_TYPES else kind) for name, path in files.items()}
    if between.exists():
        checked.setdefault(between.name, (between, None))
    if not files:
        return {}
    try:
        wrong = check_files(
            checked,
            model.convert,
            model.tensors,
            model.adapter,
            model.job.artifacts / "adapter",
            model.scratch,
            model.job.track("verify", "comparing every tensor"),
            {
                path.name: importance.columns
                for name, path in files.items()
                if importance and name in IMPORTANCE_QUANTIZATIONS
            },
        )
    except Stopped:
        raise
    except Exception as error:
        # What cannot be compared is not proven wrong.
        unknown = f"Its tensors could not be compared: {outcome.logged(error).message}"
        return dict.fromkeys(files, Exact(unknown=unknown))
    if between.name in wrong and wrong[between.name] is not None:
        for name, path in files.items():
            if name not in DIRECT_TYPES:
                wrong[path.name] = f"It was made from a wrong {kind} file. {wrong[between.name]}"
    return {name: Exact(wrong[path.name]) for name, path in files.items()}


def _known(
    job: JobContext,
    base: Path,
    template: Template,
    tokenizer: PreTrainedTokenizerBase,
    trained: Summary | None,
) -> Kept:
    """What the training kept; of one that an earlier release trained, what can still be found out."""
    found = kept.read(job.artifacts)
    if found is None:
        known: Summary = trained or {}
        found = kept.gather(job.spec, known.get("config"), known.get("golden", []), template, tokenizer)
    if found.config is None:
        found = Kept(complete_config(base), found.golden, found.texts, found.tokens)
    return found


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
    advice = "(old models and checkpoints, the hub cache), then export the model again."
    disk_budget.refuse_beyond_free(job.folder, parts, disk.spare_bytes, advice)


def _full_disk(error: Exception, folder: Path) -> Failure | None:
    """Failure `disk_full` for numpy's short write, which has no errno ("n requested and m written")."""
    if not isinstance(error, OSError) or error.errno is not None or "requested and" not in str(error):
        return None
    return Failure(
        "disk_full",
        "The disk is full: the model file could not be written to its end.",
        outcome.ADVICE["disk_full"],
        f"{error}; {shutil.disk_usage(folder).free} bytes are free",
    )
