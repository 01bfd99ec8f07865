"""Moves verified files into `artifacts/` and reports them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data.template import Template, render
from trainer.export.gguf.header import parts_of
from trainer.export.ollama import modelfile
from trainer.export.verification.compare import Figures
from trainer.export.verification.verify import warn_of_token_differences
from trainer.model.tokenizer import adds_bos
from trainer.protocol.context import JobContext
from trainer.protocol.durable import sync_folder, write_json

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# The Modelfile for the adapter on the GGUF that was trained from.
ADAPTER_MODELFILE = "adapter.Modelfile"
# Figures of the first file, or the first that has not passed, in `done`.
TOLD = (
    "exact",
    "agreement",
    "mean_kl",
    "max_logprob_difference",
    "loss",
    "reference_loss",
    "loss_increase",
    "difference_from_base",
    "tokens_equal",
)


def publish(
    job: JobContext,
    scratch: Path,
    ggufs: dict[str, Path],
    results: dict[str, Figures],
    adapter_gguf: Path | None,
    adapter_readme: Path | None,
    vision_file: Path | None,
    template: Template,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, object] | None:
    """Publishes the files by quantization, the adapter with its README, the base's vision file, the Modelfile
    and the verification report; returns the `verification` of `done`, None without a file."""
    published: list[tuple[str, Path, str | None]] = []
    for quantization, path in ggufs.items():
        published.append(("gguf", move(path, job.artifacts / path.name), quantization))
    write_modelfile = partial(
        modelfile.write,
        template=template,
        render=lambda messages, generation: render(template, messages, generation),
        adds_bos=adds_bos(tokenizer),
    )
    if adapter_gguf is not None:
        published.append(("adapter_gguf", move(adapter_gguf, job.artifacts / "adapter.gguf"), None))
        # Ollama reads no split files.
        if job.spec.model.gguf is not None and len(parts_of(Path(job.spec.model.gguf))) == 1:
            text = write_modelfile(job.spec.model.gguf, adapter="./adapter.gguf")
            written = scratch / ADAPTER_MODELFILE
            written.write_text(text, "utf-8")
            path = move(written, job.artifacts / ADAPTER_MODELFILE)
            published.append(("adapter_modelfile", path, None))
    if adapter_readme is not None:
        path = move(adapter_readme, job.artifacts / adapter_readme.name)
        published.append(("adapter_readme", path, None))
    if vision_file is not None:
        published.append(("mmproj", move(vision_file, job.artifacts / vision_file.name), None))
    first = next(iter(results), None)
    if first is None:
        _report(job, published)
        return None
    if not (job.artifacts / "Modelfile").exists():
        written = scratch / "Modelfile"
        written.write_text(write_modelfile(f"./model-{first}.gguf"), "utf-8")
        published.append(("modelfile", move(written, job.artifacts / "Modelfile"), None))
    if any(result.tokens_differ for result in results.values()):
        warn_of_token_differences(job, next(result for result in results.values() if result.tokens_differ))
    report = job.artifacts / "verification.json"
    files = json.loads(report.read_text("utf-8"))["files"] if report.exists() else {}
    files.update({name: figures.as_dict() for name, figures in results.items()})
    write_json(report, {"version": 1, "files": files})
    published.append(("verification", report, None))
    _report(job, published)
    figures = next((result for result in results.values() if not result.passed), results[first])
    return {
        "passed": all(result.passed for result in results.values()),
        **{name: getattr(figures, name) for name in TOLD},
        "tokens_differ": asdict(figures.tokens_differ) if figures.tokens_differ else None,
        "reason": figures.reason or None,
        "files": {
            name: {cost: getattr(result, cost) for cost in ("loss_increase", "mean_kl", "agreement")}
            for name, result in results.items()
        },
    }


def _report(job: JobContext, published: list[tuple[str, Path, str | None]]) -> None:
    for kind, path, quantization in published:
        job.artifact(kind, path, path.stat().st_size, quantization)


def move(source: Path, destination: Path) -> Path:
    """Brings `source` to the disk and renames it into place."""
    descriptor = os.open(source, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(source, destination)
    sync_folder(destination.parent)
    return destination
