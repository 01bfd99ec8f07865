"""Runs one job from its specification to its model: checks, downloads, starts the ranks and the export."""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trainer import imports
from trainer.adapter_base import make as adapter_base
from trainer.data.job import Job
from trainer.engines.choose import engine_of, refuse_workers
from trainer.export import full_precision
from trainer.export.new_tokens.grow import grow, grown
from trainer.gguf_base import make as gguf_base
from trainer.libraries.versions import PACKAGES, require, versions
from trainer.model import check, download, text_part
from trainer.model.quantization import quantized
from trainer.model.view import make_view
from trainer.protocol import checkpoints
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import PROTOCOL, ContractError, Spec, read_spec
from trainer.protocol.failures import Failure, explain
from trainer.protocol.heartbeat import Heartbeat
from trainer.protocol.journal import Journal
from trainer.protocol.rank import WorkerLost
from trainer.protocol.stop import Stop, Stopped
from trainer.registry import create
from trainer.work import TRAINED, save_artifacts, train

if TYPE_CHECKING:
    from trainer.protocol.context import WritesLines

# Log lines in the evidence of an unexpected failure.
LOG_LINES = 20

# How often a run starts again because a worker was lost.
RESTARTS = 3


def run(spec_path: str, downloaded: bool = False, lost: int = 0) -> int:
    """Runs the job of the specification at `spec_path`; exit status 0 after `done`, 1 after `failed`.

    `downloaded` says that this process has replaced the one that began the job and downloaded its model;
    `lost` how often workers of this run were lost.
    """
    return report_failures(spec_path, partial(_run, downloaded=downloaded, lost=lost))


def export(spec_path: str) -> int:
    """Exports a trained job; same exit statuses as `run`."""
    return report_failures(spec_path, _export)


def _run(context: JobContext, downloaded: bool, lost: int) -> None:
    spec = context.spec
    trained = (spec.folder / TRAINED).exists()
    newest, skipped = checkpoints.newest(spec.folder / "checkpoints", to_train=not trained)
    if not downloaded:
        context.journal.write(
            "hello",
            protocol=PROTOCOL,
            pid=os.getpid(),
            resumed_from_step=newest.step if newest else None,
            versions={name: version for name, version in versions(PACKAGES).items() if version},
        )
    if trained:
        _become_export(context)
        return
    for name, reason in () if downloaded else skipped:
        message = f"{name} is not used: {reason}. " + (
            f"The run continues from step {newest.step}." if newest else "The run starts from the beginning."
        )
        context.warn("checkpoint_skipped", message)
    job = Job(
        **vars(context),
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=newest,
        lost=lost,
    )
    try:
        check_job(job, downloaded, "run")
        _try_export(job)
        if not job.provider.own_kernels:
            imports.spare(job.spec, job.config)
        result = engine_of(job)(job, train, partial(_lose_at_once, context, lost))
    except WorkerLost as error:
        _start_again(context, lost, error)
    except Stopped:
        newest, _ = checkpoints.newest(spec.folder / "checkpoints", to_train=False)
        context.done("stopped", newest.step if newest else 0, {})
        return
    if result["stopped"]:
        context.done("stopped", result["step"] or 0, result["metrics"])
        return
    if "model" in result:
        save_artifacts(job, result)
    _become_export(job)


def check_job(job: Job, downloaded: bool, verb: str) -> None:
    """Refuses what cannot work and downloads the model. A process with secrets is then replaced by one of
    `verb`, so that none of them is in the one that loads the model's files."""
    if not downloaded:
        job.phase("check")
    require("transformers", "trl", "peft", "accelerate")
    available, reason = job.provider.availability()
    if not available:
        code, advice = job.provider.absence
        raise Failure(code, reason, advice)
    if job.spec.task not in job.strategy.tasks or job.spec.provider not in job.strategy.providers:
        raise Failure(
            "unsupported",
            f"{job.spec.strategy} does not support {job.spec.task} with the provider {job.spec.provider}.",
            "GET /api/info lists the supported combinations.",
        )
    refuse_workers(job)
    if _make_of_ggufs(job) and os.name != "nt" and not download.from_hub(job):
        # With the memory of a fresh process.
        download.replace_process(verb, str(job.folder / "spec.json"), "--downloaded")
    directory = download.find_small_files(job, downloaded)
    if adapter_base.missing(job.spec.model):
        directory = adapter_base.small_files(job.spec.model, directory, job.folder / "merged-base")
    job.config = check.read_config(directory, job.spec.model.name)
    if check.has_adapter_beside(directory) and not downloaded:
        job.warn(
            "adapter_beside",
            "An adapter lies beside the model's weights (adapter_config.json). It is not used: the training "
            "starts from the weights alone. With merge_adapter, it is merged into them first.",
        )
    job.family = check.family(job.config, job.task, job.strategy)
    if verb == "run" and not downloaded and text_part.find(job.config) is not None:
        job.warn(
            "text_part",
            "The text part of this model is trained; images and sound are not. The rest stays as it is.",
        )
    check.refuse_shape(job.config, job.family, job.shape)
    check.refuse_reward(job.config, job.spec.strategy, job.settings.reward_model)
    job.provider.refuse(job.config, job.family, job.settings)
    quantized.refuse(job.config, job.settings)
    _decide_export(job, downloaded)
    model = download.find_weights(job, downloaded)
    reward = download.find_reward_model(job, downloaded) if job.spec.strategy == "rlhf" else None
    teacher = download.find_teacher(job, downloaded)
    if download.forget_secrets() and download.from_hub(job) and os.name != "nt":
        download.replace_process(verb, str(job.folder / "spec.json"), "--downloaded")
    download.go_offline()
    if adapter_base.missing(job.spec.model):
        adapter_base.make(job)
        shutil.rmtree(directory)
        model = download.find_weights(job, downloaded=True)
    check.check_weights(model, job.spec.model.name)
    if quantized.is_unpacked(job.config):
        model = full_precision.directory(job.spec, job.track("load", "base model in full precision"))
        job.config = quantized.without_quantization(job.config)
    job.model_dir = grow(make_view(model, job.folder / "model"), job.spec)
    job.config = grown(job.config, job.model_dir)
    if reward is not None:
        name = job.settings.reward_model or ""
        check.read_config(reward, name)
        check.check_weights(reward, name)
        job.reward_dir = make_view(reward, job.folder / "reward-model")
    if teacher is not None:
        job.teacher_dir = _view_of_teacher(job, teacher)


def _make_of_ggufs(job: Job) -> bool:
    """Makes the folders of the base model and the teacher that are GGUF files; whether one was missing."""
    bases = [job.spec.model, *([] if job.spec.teacher is None else [job.spec.teacher.base])]
    missing = [base for base in bases if gguf_base.missing(base)]
    for base in missing:
        made = copy(job)
        made.spec = msgspec.structs.replace(job.spec, model=base)
        gguf_base.make(made)
    return len(missing) > 0


def _view_of_teacher(job: Job, directory: Path) -> Path:
    """The view of the job's teacher, which is in `directory`; a Failure says why it cannot teach."""
    teacher = job.spec.teacher
    name = "" if teacher is None else teacher.name
    config = check.read_config(directory, name)
    check.family(config, job.task, job.strategy)
    quantized.refuse(config, job.settings)
    if quantized.is_unpacked(config):
        raise Failure(
            "unsupported",
            f"The weights of the teacher {name} are stored quantized ({quantized.method_of(config)}).",
            "Choose the 16-bit version of the model, from which it was made.",
        )
    check.check_weights(directory, name)
    return make_view(directory, job.folder / "teacher-model")


def _decide_export(job: Job, reported: bool) -> None:
    """Drops an export that was not requested by name and that llama.cpp could not run, with a warning."""
    if job.spec.export is None:
        return
    possible, reason = check.exportable(job.config, job.spec)
    if not possible:
        job.spec = msgspec.structs.replace(job.spec, export=None)
        if not reported:
            job.warn("no_gguf", f"This training makes an adapter and no GGUF file. {reason}")


def _try_export(job: Job) -> None:
    """Refuses or drops an export that would fail after the training."""
    if job.spec.export is not None:
        from trainer.dry_run.start import dry_run

        dry_run(job)


def _start_again(context: JobContext, lost: int, error: WorkerLost) -> None:
    """Replaces this process by one that continues from the newest checkpoint; Failure `worker_lost` when that
    happened too often. Stopped when a stop was requested."""
    context.stop.raise_if_requested()
    newest, _ = checkpoints.newest(context.folder / "checkpoints", to_train=False)
    if lost >= RESTARTS or os.name == "nt":
        raise Failure("worker_lost", f"{error}, after {lost} others were lost.", evidence=str(error))
    where = f"continues from step {newest.step}" if newest else "starts from the beginning"
    context.warn("worker_lost", f"{error}. The run {where} ({lost + 1} of {RESTARTS} restarts).")
    download.replace_process(
        "run", str(context.folder / "spec.json"), "--downloaded", "--lost", str(lost + 1)
    )


def _lose_at_once(context: JobContext, lost: int, error: Exception) -> None:
    """Like `_start_again`, from a thread, while the training waits for a dead worker. Does not return."""
    try:
        if isinstance(error, WorkerLost):
            _start_again(context, lost, error)
        raise error
    except Stopped:
        newest, _ = checkpoints.newest(context.folder / "checkpoints", to_train=False)
        context.done("stopped", newest.step if newest else 0, {})
        os._exit(0)
    except Exception as failure:
        traceback.print_exc()
        os._exit(_fail(context.journal, explain(failure)))


def _become_export(context: JobContext) -> None:
    """Replaces this process by the export, which then starts with the memory of a fresh one; without an
    export the job is done."""
    from trainer.export import outcome

    trained = json.loads((context.folder / TRAINED).read_text(encoding="utf-8"))
    quantizations: list[str] = []
    try:
        spec = read_spec(context.folder / "spec.json")
        reason = _why_no_export(context.folder, spec)
        if reason is None and spec.export is not None:
            quantizations = spec.export.quantizations
            if os.name == "nt":
                download.forget_secrets()
                _export(context)
            else:
                download.replace_process("export", str(context.folder / "spec.json"))
            return
        export = outcome.skipped(reason or "")
    except Exception as error:
        export = outcome.failed(error, quantizations)
    context.done("completed", trained["step"], trained["metrics"], export=export)


def _why_no_export(folder: Path, spec: Spec) -> str | None:
    """Why the job in `folder` makes no GGUF, as a sentence; None when it makes one."""
    if spec.export is None or not spec.export.quantizations:
        return "No GGUF file was asked for."
    possible, reason = check.exportable(
        json.loads((folder / "model" / "config.json").read_text("utf-8")), spec
    )
    if not possible:
        return reason
    from trainer.export import learned

    failed = learned.obstacle(learned.read(folder / learned.NOTE))
    return None if failed is None else failed["message"]


def _export(context: JobContext) -> None:
    from trainer.export.run import run_export

    make_base(context)
    run_export(context)


def make_base(context: JobContext) -> None:
    """Makes the folder of the job's base model again, if it is of a GGUF or an adapter and was lost."""
    gguf_base.make(context)
    adapter_base.make(context)


def export_again(
    spec_path: str,
    folder: str,
    types: str,
    into: str | None,
    strength: float,
    checkpoint: str | None,
    merged: bool,
    adapter_gguf: bool,
) -> int:
    """As `trainer.export.again`, which makes the base model's folder again where it has to be."""
    from trainer.export import again

    of = None if checkpoint is None else Path(checkpoint)
    choice = None if into is None else again.Choice(Path(into), strength, of)
    asked = {again.MERGED: merged, again.ADAPTER_GGUF: adapter_gguf}
    forms = [form for form, is_asked in asked.items() if is_asked]
    return again.export_again(spec_path, folder, types, make_base, choice, forms)


def report_failures(spec_path: str, work: Callable[[JobContext], None]) -> int:
    """Runs `work` with the job's context; an exception ends the journal with `failed`."""
    try:
        spec = read_spec(spec_path)
        journal = Journal(spec.folder)
    except (ContractError, OSError) as error:
        return _refuse(spec_path, error)
    try:
        stop = Stop(spec.folder)
        stop.listen()
        os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
        work(JobContext(spec, journal, Heartbeat(spec.folder), stop))
        return 0
    except Exception as error:
        traceback.print_exc()
        failure = explain(error)
        if failure.code == "internal":
            failure.evidence = "\n".join([failure.evidence, *_log_tail(spec.folder)])
        return _fail(journal, failure)
    finally:
        full_precision.remove_copy(spec.folder)


def _log_tail(folder: Path) -> list[str]:
    """The last lines of log.txt, which standard error goes to; empty where there is none."""
    sys.stderr.flush()
    try:
        with open(folder / "log.txt", "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 16_384))
            return log.read().decode("utf-8", "replace").splitlines()[-LOG_LINES:]
    except OSError:
        return []


def _refuse(spec_path: str, error: Exception) -> int:
    """Reports an unreadable specification in a journal beside it."""
    print(error, file=sys.stderr)
    folder = Path(spec_path).resolve().parent
    if not folder.is_dir():
        return 2
    failure = Failure(
        "internal", str(error), "The service and the trainer have different versions. Run `npm start` again."
    )
    return _fail(Journal(folder), failure)


def _fail(journal: WritesLines, failure: Failure) -> int:
    """Writes `failed`; on a full disk only the exit status reports the failure."""
    try:
        journal.write("failed", **failure.fields())
    except OSError as error:
        print(
            f"{failure.code}: {failure.message} (and the journal could not be written: {error})",
            file=sys.stderr,
        )
    return 1
