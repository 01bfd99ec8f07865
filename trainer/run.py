"""One job from its specification to its model, top to bottom."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from trainer import check, checkpoints, download, template
from trainer.contracts import PROTOCOL, ContractError, Spec, read_spec
from trainer.describe import PACKAGES, versions
from trainer.durable import write_json
from trainer.failures import Failure, explain
from trainer.heartbeat import Heartbeat
from trainer.job import Job
from trainer.journal import Journal
from trainer.registry import create
from trainer.stop import Stop, Stopped

# Written when training is over, so that a run taken up again goes straight to the export.
TRAINED = "trained.json"

# Lines of the log that a failure nobody foresaw carries.
LOG_LINES = 20


def run(spec_path: str) -> int:
    """Runs the job of the specification at `spec_path`; exit status 0 after `done`, 1 after `failed`."""
    return _told(spec_path, _run)


def export(spec_path: str) -> int:
    """Makes the GGUF of a job whose training is over; the same exit statuses."""
    return _told(spec_path, _export)


def _run(spec: Spec, journal: Journal, stop: Stop) -> None:
    trained = (spec.folder / TRAINED).exists()
    newest, skipped = checkpoints.newest(spec.folder / "checkpoints", to_train=not trained)
    journal.write(
        "hello",
        protocol=PROTOCOL,
        pid=os.getpid(),
        resumed_from_step=newest.step if newest else None,
        versions={name: version for name, version in versions(PACKAGES).items() if version},
    )
    if trained:
        _become_export(spec, journal, stop)
        return
    for name, reason in skipped:
        message = f"{name} is not used: {reason}. " + (
            f"The run goes on from step {newest.step}." if newest else "The run starts from the beginning."
        )
        journal.write("warning", code="checkpoint_skipped", message=message)
    job = Job(
        spec=spec,
        journal=journal,
        heartbeat=Heartbeat(spec.folder),
        stop=stop,
        task=create("task", spec.task),
        strategy=create("strategy", spec.strategy),
        provider=create("provider", spec.provider),
        resume=newest,
    )
    try:
        _check(job)
        _load(job)
        result = _train(job)
    except Stopped:
        step = newest.step if newest else 0
        journal.write("done", outcome="stopped", step=step, metrics={}, verification=None)
        return
    if result["stopped"]:
        journal.write(
            "done", outcome="stopped", step=result["step"], metrics=result["metrics"], verification=None
        )
        return
    _keep(job, result)
    _become_export(spec, journal, stop)


def _check(job: Job) -> None:
    """Whether this can work at all; then the model comes to this machine, and the hub token goes."""
    job.phase("check")
    available, reason = job.provider.availability()
    if not available:
        code, advice = job.provider.absence
        raise Failure(code, reason, advice)
    if job.spec.task not in job.strategy.tasks or job.spec.provider not in job.strategy.providers:
        raise Failure(
            "unsupported",
            f"{job.spec.strategy} does not go with {job.spec.task} and the provider {job.spec.provider}.",
            "GET /api/info lists what combines.",
        )
    directory = download.find_small_files(job)
    job.config = check.read_config(directory, job.spec.model.name)
    job.family = check.family(job.config, job.task, job.strategy)
    job.provider.refuse(job.config, job.family, job.settings)
    check.check_exportable(job.config, job.spec)
    job.model_dir = download.find_weights(job)
    job.reward_dir = download.find_reward_model(job) if job.spec.strategy == "rlhf" else None
    download.forget_token()
    download.go_offline()
    check.check_weights(job.model_dir, job.spec.model.name)
    if job.reward_dir is not None:
        check.read_config(job.reward_dir, job.settings.reward_model)
        check.check_weights(job.reward_dir, job.settings.reward_model)


def _load(job: Job) -> None:
    """The tokenizer and the template, before the model: what is wrong with them is known in a second."""
    job.phase("load", None, "tokenizer")
    job.alive()
    job.provider.prepare(job)
    job.tokenizer = job.provider.tokenizer(job)
    if job.family == "causal":
        job.template = template.choose(job.tokenizer, job.config, job.settings.use_chat_template)
    else:
        job.template = template.plain(job.tokenizer, job.config)
    job.artifacts.mkdir(exist_ok=True)
    template.save(job.template, job.spec.task, job.artifacts / "template.json")


def _train(job: Job) -> dict[str, Any]:
    """Rows, model, steps."""
    job.phase("load", None, "model")
    job.alive()
    return job.strategy.train(job)


def _keep(job: Job, result: dict[str, Any]) -> None:
    """The adapter with its tokenizer, what the export verifies against, the note that training is over."""
    adapter = job.artifacts / "adapter"
    # Adapted output layers would else bring their frozen weights along.
    result["model"].save_pretrained(adapter, safe_serialization=True, save_embedding_layers=False)
    job.tokenizer.save_pretrained(adapter)
    # The adapter goes where its model goes: it names its base, not a folder of this machine.
    (adapter / "README.md").unlink(missing_ok=True)
    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    write_json(adapter / "adapter_config.json", {**config, "base_model_name_or_path": job.spec.model.name})
    if job.spec.export is not None and result["references"]:
        from trainer.export.reference import record

        def progress(done: int, total: int) -> None:
            job.heartbeat.beat()

        record(result["model"], result["references"], job.folder / "reference.safetensors", progress)
    size = sum(path.stat().st_size for path in adapter.rglob("*") if path.is_file())
    _artifact(job, "adapter", adapter, size)
    told = job.artifacts / "template.json"
    _artifact(job, "template", told, told.stat().st_size)
    trained = {"version": 1, "step": result["step"], "metrics": result["metrics"]}
    if job.spec.export is not None:
        from trainer.export.light_transformers import complete_config

        trained["config"] = complete_config(job.model_dir)
    write_json(job.folder / TRAINED, trained)


def _artifact(job: Job, kind: str, path: Path, size: int) -> None:
    where = path.relative_to(job.folder).as_posix()
    job.journal.write("artifact", kind=kind, path=where, bytes=size, quantization=None)


def _become_export(spec: Spec, journal: Journal, stop: Stop) -> None:
    """Replaces this process by the export, which then has the memory of a fresh one; without an export,
    the job is done."""
    if spec.export is None:
        trained = json.loads((spec.folder / TRAINED).read_text(encoding="utf-8"))
        journal.write(
            "done", outcome="completed", step=trained["step"], metrics=trained["metrics"], verification=None
        )
        return
    if os.name == "nt":
        _export(spec, journal, stop)
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "trainer", "export", str(spec.folder / "spec.json")])


def _export(spec: Spec, journal: Journal, stop: Stop) -> None:
    from trainer.export import run_export

    run_export(spec, journal, stop)


def _told(spec_path: str, work: Any) -> int:
    """Runs `work` with the specification and the journal; whatever it raises ends as `failed`."""
    try:
        spec = read_spec(spec_path)
        journal = Journal(spec.folder)
    except (ContractError, OSError) as error:
        return _refuse(spec_path, error)
    try:
        stop = Stop(spec.folder)
        stop.listen()
        os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
        work(spec, journal, stop)
        return 0
    except Exception as error:
        traceback.print_exc()
        failure = explain(error)
        if failure.code == "internal":
            failure.evidence = "\n".join([failure.evidence, *_log_tail(spec.folder)])
        return _fail(journal, failure)


def _log_tail(folder: Path) -> list[str]:
    """The last lines of the job's log, which is where standard error goes; none where it goes elsewhere."""
    sys.stderr.flush()
    try:
        with open(folder / "log.txt", "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 16_384))
            return log.read().decode("utf-8", "replace").splitlines()[-LOG_LINES:]
    except OSError:
        return []


def _refuse(spec_path: str, error: Exception) -> int:
    """A specification that cannot be read still ends in a journal, beside the specification."""
    print(error, file=sys.stderr)
    folder = Path(spec_path).resolve().parent
    if not folder.is_dir():
        return 2
    failure = Failure("internal", str(error), "The service and the trainer differ in version; set up again.")
    return _fail(Journal(folder), failure)


def _fail(journal: Journal, failure: Failure) -> int:
    """Writes `failed`; a full disk may refuse even that, and the exit status is what is left."""
    try:
        journal.write("failed", **failure.fields())
    except OSError as error:
        print(
            f"{failure.code}: {failure.message} (and the journal could not be written: {error})",
            file=sys.stderr,
        )
    return 1
