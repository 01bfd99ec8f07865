"""The export from top to bottom: merge, convert, quantize, verify, publish."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.contracts import Spec
from trainer.download import forget_token
from trainer.durable import sync_folder, write_json
from trainer.failures import Failure
from trainer.heartbeat import Heartbeat
from trainer.journal import Journal
from trainer.stop import Stop, Stopped
from trainer.template import Template, render

from . import adapter as adapters
from . import modelfile, reference, texts, tools, verify, view, weights
from .adapter_gguf import write_adapter
from .architectures import verdict
from .convert import DIRECT_TYPES, convert
from .light_transformers import load_tokenizer

#: two phase lines of one phase lie at least this far apart
REPORT_SECONDS = 0.25
#: bytes per weight of the types, rounded up; for the disk budget alone
BYTES_PER_WEIGHT = {"F32": 4.0, "F16": 2.0, "BF16": 2.0, "Q8_0": 1.07, "Q6_K": 0.83, "Q5_K_M": 0.72}
#: left free on the disk beyond what the export needs
SPARE_BYTES = 64 << 20


@dataclass
class _Work:
    """What every step shares."""

    spec: Spec
    journal: Journal
    heartbeat: Heartbeat
    stop: Stop
    scratch: Path
    artifacts: Path
    #: the base's, with what its family takes by default
    config: dict[str, Any]
    reported: float = 0.0

    def alive(self) -> None:
        """Beats; raises Stopped when a stop was asked for."""
        self.heartbeat.beat()
        self.stop.check()

    def phase(self, name: str, progress: float | None, detail: str | None = None) -> None:
        """A phase line at once."""
        self.reported = time.monotonic()
        self.journal.write("phase", phase=name, progress=progress, detail=detail)

    def follow(self, name: str, detail: str) -> Callable[[float], None]:
        """A function for the progress (0…1) of a long phase; it beats, heeds stops and reports seldom."""
        self.phase(name, 0.0, detail)

        def progress(share: float) -> None:
            self.alive()
            if share >= 1.0 or time.monotonic() - self.reported >= REPORT_SECONDS:
                self.phase(name, round(min(1.0, share), 4), detail)

        return progress


def run_export(spec: Spec, journal: Journal, stop: Stop | None = None) -> None:
    """Makes every GGUF that `spec.export` names out of the job folder's `trained.json`, `artifacts/adapter/`,
    `artifacts/template.json` and `reference.safetensors`, and ends the journal with `done`.

    Nothing of it is visible under `artifacts/` before it is complete and verified; a stop leaves the folder
    as it was, and running again starts over. Raises Failure (unsupported, bad_model, bad_tokenizer,
    disk_full, verification_failed, …) and OSError.
    """
    folder = spec.folder
    trained = json.loads((folder / "trained.json").read_text("utf-8"))
    work = _Work(
        spec,
        journal,
        Heartbeat(folder),
        stop or Stop(folder),
        folder / "export.partial",
        folder / "artifacts",
        trained["config"],
    )
    shutil.rmtree(work.scratch, ignore_errors=True)
    work.scratch.mkdir()
    try:
        work.alive()
        summary = _export(work)
    except Stopped:
        journal.write(
            "done", outcome="stopped", step=trained["step"], metrics=trained["metrics"], verification=None
        )
        return
    except OSError as error:
        raise _full_disk(error, folder) or error from error
    finally:
        shutil.rmtree(work.scratch, ignore_errors=True)
    journal.write(
        "done", outcome="completed", step=trained["step"], metrics=trained["metrics"], verification=summary
    )


def _export(work: _Work) -> dict[str, Any]:
    spec = work.spec
    if spec.export is None or spec.tools is None or not spec.export.quantizations:
        raise Failure("internal", "The job asks for no GGUF.", "Set export.quantizations.")
    quantizations = list(dict.fromkeys(name.upper() for name in spec.export.quantizations))

    work.phase("merge", 0.0, "reading the adapter")
    base = _base_directory(spec)
    forget_token()
    possible, reason = verdict(work.config, spec.tools.converter)
    if not possible:
        raise Failure("unsupported", reason, "Choose another model, or set export to none.")
    template = texts.load_template(work.artifacts / "template.json")
    tensors = weights.index_checkpoint(base)
    tied = work.config.get("tie_word_embeddings", False) or not any(
        name.endswith(("lm_head.weight", "embed_out.weight", "output.weight")) for name in tensors
    )
    adapter = adapters.load(work.artifacts / "adapter", tensors, tied)
    _check_disk(work, tensors, quantizations)
    folder = work.scratch / "view"
    folder.mkdir()
    view.build(base, folder, template, work.config)
    tokenizer = load_tokenizer(work.artifacts / "adapter")
    special = bool(template.bos_token) and render(
        template, [{"role": "user", "content": "a"}], True
    ).startswith(template.bos_token or "")
    work.phase("merge", 1.0, f"{len(adapter.updates)} tensors change")

    def write(destination: Path, quantization: str) -> None:
        convert(
            converter_dir=Path(spec.tools.converter),
            view=folder,
            base_dir=base,
            tensors=tensors,
            adapter=adapter,
            destination=destination,
            quantization=quantization,
            name=f"{spec.model.name.rsplit('/', 1)[-1]} {spec.job_id}",
            text_starts_with_special=special,
            end_of_turn=_end_of_turn(template, tokenizer),
            on_progress=work.follow("convert", f"merging into {quantization}"),
        )

    known = _reference(work)
    wanted, expected = texts.collect(spec, template, tokenizer)
    made: dict[str, Path] = {}
    results: dict[str, verify.Figures] = {}
    indirect = [name for name in quantizations if name not in DIRECT_TYPES]
    intermediate: Path | None = None
    for name in [*(name for name in quantizations if name in DIRECT_TYPES), *indirect]:
        path = work.scratch / f"model-{name}.gguf"
        if name in DIRECT_TYPES:
            write(path, name)
        else:
            if intermediate is None:
                intermediate = next((made[kind] for kind in ("F32", "F16") if kind in made), None)
            if intermediate is None:
                intermediate = work.scratch / "intermediate.gguf"
                write(intermediate, _wide_type(tensors))
            tools.quantize(
                spec.tools.quantize,
                intermediate,
                path,
                name,
                work.follow("quantize", name),
                work.alive,
            )
        results[name] = _verified(work, path, name, known, wanted, expected)
        made[name] = path

    lora = work.scratch / "adapter.gguf"
    work.alive()
    obstacle = write_adapter(
        converter_dir=Path(spec.tools.converter),
        view=folder,
        tensors=tensors,
        adapter=adapter,
        destination=lora,
    )
    if obstacle is not None:
        work.journal.write(
            "warning",
            code="no_adapter_gguf",
            message=f"The base cannot be compared with in the playground: {obstacle}.",
        )
    work.stop.check()
    return _publish(work, made, results, lora if obstacle is None else None, template, tokenizer)


def _publish(
    work: _Work,
    made: dict[str, Path],
    results: dict[str, verify.Figures],
    lora: Path | None,
    template: Template,
    tokenizer: Any,
) -> dict[str, Any]:
    """Moves what is complete and verified into `artifacts/` and tells of it; returns what `done` says."""
    told: list[tuple[str, Path, str | None]] = []
    for name, path in made.items():
        told.append(("gguf", _place(path, work.artifacts / path.name), name))
    if lora is not None:
        told.append(("adapter_gguf", _place(lora, work.artifacts / "adapter.gguf"), None))
    first = next(iter(results))
    text = modelfile.write(
        f"model-{first}.gguf",
        template,
        lambda messages, generation: render(template, messages, generation),
        _adds_bos(tokenizer),
    )
    aside = work.scratch / "Modelfile"
    aside.write_text(text, "utf-8")
    told.append(("modelfile", _place(aside, work.artifacts / "Modelfile"), None))
    report = work.artifacts / "verification.json"
    write_json(
        report, {"version": 1, "files": {name: figures.as_dict() for name, figures in results.items()}}
    )
    told.append(("verification", report, None))
    for kind, path, quantization in told:
        work.journal.write(
            "artifact",
            kind=kind,
            path=path.relative_to(work.spec.folder).as_posix(),
            bytes=path.stat().st_size,
            quantization=quantization,
        )
    figures = results[first]
    return {
        "passed": all(result.passed for result in results.values()),
        "agreement": figures.agreement,
        "max_logprob_difference": figures.max_logprob_difference,
        "mean_kl": figures.mean_kl,
        "difference_from_base": figures.difference_from_base,
        "tokens_equal": figures.tokens_equal,
    }


def _verified(
    work: _Work,
    path: Path,
    name: str,
    known: reference.Reference,
    wanted: list[str],
    expected: list[list[int]],
) -> verify.Figures:
    """Scores a finished GGUF; raises Failure `verification_failed` when it is not what was trained."""
    work.phase("verify", 0.0, name)
    request = {
        "gguf": str(path),
        "sequences": [
            {"tokens": tokens, "ids": ids} for tokens, ids in zip(known.sequences, known.ids, strict=True)
        ],
        "texts": wanted,
    }
    answer = tools.score(work.spec.tools.score, request, work.alive)
    figures = verify.compare(name, known, answer, expected)
    if not figures.passed:
        raise Failure(
            "verification_failed",
            f"The {name} GGUF does not answer as the trained model does: {figures.reason}.",
            "The adapter is kept. Export with F16, or report this with the job's log.",
            json.dumps(figures.as_dict()),
        )
    if figures.tokens_equal < 1:
        work.journal.write(
            "warning",
            code="tokens_differ",
            message=f"{round((1 - figures.tokens_equal) * figures.texts)} of {figures.texts} texts become "
            "other tokens in llama.cpp than in training.",
        )
    if figures.difference_from_base < verify.SAME and figures.sequences:
        work.journal.write(
            "warning",
            code="no_difference_from_base",
            message="The tuned model answers like its base: training changed next to nothing. Train longer, "
            "or raise learning_rate.",
        )
    work.phase("verify", 1.0, name)
    return figures


def _reference(work: _Work) -> reference.Reference:
    path = work.spec.folder / "reference.safetensors"
    if path.is_file():
        return reference.read(path)
    work.journal.write(
        "warning",
        code="no_reference",
        message="There is no record of the trained model's answers; only the tokens are compared.",
    )
    return reference.Reference([], [], [], [], "float32", False)


def _base_directory(spec: Spec) -> Path:
    """The base model's directory; it was downloaded before training, so nothing is fetched here."""
    if spec.model.path is not None:
        return Path(spec.model.path)
    from huggingface_hub import snapshot_download

    from trainer.download import UNWANTED, WANTED

    # Only these were downloaded: asked for more, the client calls what the cache has incomplete.
    wanted = {"allow_patterns": WANTED, "ignore_patterns": UNWANTED}
    return Path(snapshot_download(spec.model.name, local_files_only=True, **wanted))


def _wide_type(tensors: dict[str, weights.StoredTensor]) -> str:
    """The type of the file between merging and quantizing: what loses nothing at the least size."""
    stored = {tensor.dtype for tensor in tensors.values() if len(tensor.shape) > 1}
    return "BF16" if stored == {"BF16"} else "F16"


def _check_disk(work: _Work, tensors: dict[str, weights.StoredTensor], quantizations: list[str]) -> None:
    """Failure `disk_full` before anything is written that cannot be finished."""
    count = sum(tensor.size // weights.DTYPE_BYTES[tensor.dtype] for tensor in tensors.values())
    needed = sum(BYTES_PER_WEIGHT.get(name, 0.7) for name in quantizations) * count
    if any(name not in DIRECT_TYPES for name in quantizations) and not {"F32", "F16"} & set(quantizations):
        needed += 2 * count
    free = shutil.disk_usage(work.spec.folder).free
    if free < needed + SPARE_BYTES:
        raise Failure(
            "disk_full",
            f"The export needs about {(needed + SPARE_BYTES) / 1e9:.1f} GB of disk, {free / 1e9:.1f} GB are "
            "free.",
            "Free some disk space (old models and checkpoints, the hub cache), then resume.",
        )


def _full_disk(error: OSError, folder: Path) -> Failure | None:
    """numpy reports a short write without an errno ("n requested and m written"): that is a full disk."""
    if error.errno is not None or "requested and" not in str(error):
        return None
    return Failure(
        "disk_full",
        "The disk is full: the model file could not be written to its end.",
        "Free some disk space (old models and checkpoints, the hub cache), then resume.",
        f"{error}; {shutil.disk_usage(folder).free} bytes are free",
    )


def _place(source: Path, destination: Path) -> Path:
    """Brings `source` to the disk and renames it into place."""
    descriptor = os.open(source, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(source, destination)
    sync_folder(destination.parent)
    return destination


def _adds_bos(tokenizer: Any) -> bool:
    """Whether the tokenizer, and so the engine, puts the beginning token before a text by itself."""
    if tokenizer.bos_token_id is None:
        return False
    return tokenizer("a").input_ids[:1] == [tokenizer.bos_token_id]


def _end_of_turn(template: Template, tokenizer: Any) -> int | None:
    """The token that ends an answer, when it is one token and another than the end-of-text token."""
    if not template.stop or template.stop[0] == template.eos_token:
        return None
    token = tokenizer.convert_tokens_to_ids(template.stop[0])
    return token if isinstance(token, int) and token != tokenizer.unk_token_id else None
