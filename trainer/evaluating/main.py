"""`python -m trainer evaluate SPEC`: scores the rows of a specification with a model.

The folder of the specification also has `evaluate.json` (`order.py`). The results of the rows are written to
`rows.json`; the figures are the metrics of the journal's last line.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trainer.answering.loaded import load, names_head
from trainer.data import template
from trainer.data.job import Job
from trainer.data.template import LARGEST_CONTEXT
from trainer.evaluating.order import Order, read_order
from trainer.libraries.versions import PACKAGES, versions
from trainer.model import whole
from trainer.model.hardware import choose
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import PROTOCOL
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped
from trainer.registry import create
from trainer.run import check_job, report_failures
from trainer.training.fit import call_in_layers
from trainer.work import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# What it writes.
ROWS = "rows.json"


def evaluate(spec_path: str, downloaded: bool = False) -> int:
    """Scores the rows of the specification at `spec_path`; exit status 0 after `done`, 1 after `failed`."""
    return report_failures(spec_path, partial(_evaluate, downloaded=downloaded))


def _evaluate(context: JobContext, downloaded: bool) -> None:
    order = read_order(context.folder)
    _refuse_gone(order)
    spec = context.spec
    if not downloaded:
        context.journal.write(
            "hello",
            protocol=PROTOCOL,
            pid=os.getpid(),
            resumed_from_step=None,
            versions={name: version for name, version in versions(PACKAGES).items() if version},
        )
    job = Job(
        **vars(context),
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=None,
    )
    try:
        check_job(job, downloaded, "evaluate")
        load_tokenizer(job)
        if order.template is not None:
            job.template = template.load(Path(order.template))
        _take_whole_rows(job)
        job.phase("load", None, "model")
        model = _load(job, order.adapter)
        from trainer.evaluating.scores import score_rows

        track = job.track("evaluate", f"{spec.dataset.rows:,} rows")
        scores = score_rows(job, model, order, track)
    except Stopped:
        context.done("stopped", 0, {})
        return
    write_json(context.folder / ROWS, [asdict(row) for row in scores.rows])
    context.done("completed", 0, scores.figures)


def _refuse_gone(order: Order) -> None:
    """Failure `model_not_accessible` when the adapter or its template was deleted since it was asked for."""
    wanted = [order.template]
    if order.adapter is not None and not whole.is_whole(Path(order.adapter)):
        wanted.append(f"{order.adapter}/adapter_config.json")
    for path in filter(None, wanted):
        if not Path(path).is_file():
            raise Failure(
                "model_not_accessible",
                f"The model or checkpoint to score is no longer there: {path} is missing.",
                "Choose another model or checkpoint.",
            )


def _take_whole_rows(job: Job) -> None:
    """Lets a decoder read rows of up to its context, whatever the length of most of them is."""
    if job.family == "causal":
        length = job.template.context_length or LARGEST_CONTEXT
        settings = msgspec.structs.replace(job.settings, max_seq_length=length)
        job.spec = msgspec.structs.replace(job.spec, settings=settings)


def _load(job: Job, adapter: str | None) -> PreTrainedModel:
    """The base model, with the adapter in the folder `adapter` unless that is None; or the whole model that
    is there instead."""
    of = Path(adapter) if adapter is not None else None
    if adapter is None and job.family == "extractive" and not names_head(job.model_dir):
        raise Failure(
            "unsupported",
            "The base model has no head that answers questions: training adds it.",
            "Score a fine-tuned model.",
        )
    is_whole = of is not None and whole.is_whole(of)
    model = load(job.of_folder(of) if of is not None and is_whole else job)
    if of is not None and not is_whole:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, of)
    model.to(choose(job.settings, job.config).device)
    model.eval()
    call_in_layers(model, lambda tokens: job.heartbeat.beat())
    return model
