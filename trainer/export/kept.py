"""What a model's folder keeps so that it can be exported again, when job folder and dataset are gone."""

from __future__ import annotations

import json
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.protocol.contracts import IMPORTANCE_QUANTIZATIONS, Spec
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure, explain

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.data.job import Job, Trained
    from trainer.data.template import Template
    from trainer.protocol.model_config import ModelConfig

FILE = "export.json"
# The predictions of the trained model (`verification/reference.py`).
REFERENCE = "reference.safetensors"
# How much the inputs of its matrices matter (`importance/record.py`).
IMPORTANCE = "importance.safetensors"


@dataclass(frozen=True)
class Kept:
    """`config` is the base model's complete configuration, None if unknown; `golden` the prompts that the
    first file is asked (`PromptAnswers.for_export`); `tokens` the ids that training gave to each of `texts`.
    """

    config: ModelConfig | None
    golden: list[dict[str, object]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tokens: list[list[int]] = field(default_factory=list)

    def write(self, artifacts: Path) -> None:
        """Writes FILE."""
        write_json(artifacts / FILE, {"version": 1, **asdict(self)})


def read(artifacts: Path) -> Kept | None:
    """What `artifacts` keeps; None where an earlier release exported. Failure `internal` if damaged."""
    try:
        text = (artifacts / FILE).read_text("utf-8")
    except FileNotFoundError:
        return None
    try:
        stored = json.loads(text)
        return Kept(stored["config"], stored["golden"], stored["texts"], stored["tokens"])
    except (ValueError, KeyError, TypeError) as error:
        message = f"{FILE} in the model's folder is damaged: {type(error).__name__}: {error}."
        raise Failure("internal", message, "Restore it from a backup, or train the model again.") from error


def keep(job: Job, result: Trained) -> None:
    """Writes what `read` reads and REFERENCE for a Job whose training ended with `result`. What fails here
    costs the comparison of the export, not the training: it is a warning."""
    from trainer.export import learned
    from trainer.export.verification.reference import record

    report = job.reports("train")

    def recorded(done: int, total: int) -> None:
        job.heartbeat.beat()
        report(done / total, f"recording what it has learned: part {done:,} of {total:,}")

    try:
        config = learned.config(job.folder, job.model_dir)
        gather(job.spec, config, result.get("golden", []), job.template, job.tokenizer).write(job.artifacts)
        if result["references"]:
            record(result["model"], result["references"], job.artifacts / REFERENCE, recorded)
    except Exception as error:
        traceback.print_exc()
        (job.artifacts / REFERENCE).unlink(missing_ok=True)
        job.warn(
            "no_reference",
            "The trained model's answers could not be recorded, so no exported file is compared with them: "
            f"{explain(error).message}",
        )


def keep_importance(job: Job, result: Trained) -> None:
    """Writes IMPORTANCE for a Job whose training ended with `result`. What fails here costs small files some
    of their quality: it is a warning."""
    from trainer.export.importance import record

    report = job.reports("train")

    def measured(done: int, total: int) -> None:
        job.heartbeat.beat()
        report(done / total, f"measuring which weights matter: part {done:,} of {total:,}")

    try:
        types = job.spec.export.quantizations if job.spec.export is not None else []
        if result["rows"] and any(name in IMPORTANCE_QUANTIZATIONS for name in types):
            found = record.measure(result["model"], result["rows"], measured)
            record.write(found, job.artifacts / IMPORTANCE)
    except Exception as error:
        traceback.print_exc()
        (job.artifacts / IMPORTANCE).unlink(missing_ok=True)
        job.warn(
            "no_importance",
            "Which weights matter for its rows could not be measured, so small files are quantized without "
            f"it: {explain(error).message}",
        )


def gather(
    spec: Spec,
    config: ModelConfig | None,
    golden: list[dict[str, object]],
    template: Template,
    tokenizer: PreTrainedTokenizerBase,
) -> Kept:
    """What is kept of a training whose dataset is still there; without the texts where it is not."""
    from trainer.export.verification.sample_texts import sample_texts

    texts, tokens = sample_texts(spec, template, tokenizer) if Path(spec.dataset.path).exists() else ([], [])
    return Kept(config, golden, texts, tokens)
