"""Decides before a training whether its export will work."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trainer.dry_run.fork import Fork
from trainer.engines.local import forking_is_safe
from trainer.export import learned, node_tools
from trainer.export.shared_base import base_directory, identity
from trainer.protocol.context import REPORT_SECONDS
from trainer.protocol.contracts import Spec
from trainer.protocol.durable import write_json
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.data.job import Job

TRAINER = Path(__file__).parents[1]
# The settings that tell what of the model is changed, and how texts begin.
CHOICES = (
    "adapter",
    "target_modules",
    "target_experts",
    "use_chat_template",
    "tool_syntax",
    "modules_to_save",
    "new_tokens",
)


def dry_run(job: Job) -> None:
    """Tries the export of the job's base, unless this installation has exported it before.

    What fails is raised as a Failure when the request asked for the export; otherwise the export is dropped,
    with a warning. Raises Stopped.
    """
    spec = job.spec
    if spec.export is None or not spec.export.quantizations or spec.tools is None:
        return
    key = _key(spec)
    cache = Path(spec.tools.bases) / f"{key}.dry-run.json" if spec.tools.bases else None
    noted = learned.read(job.folder / learned.NOTE)
    known = noted.get("key") == key
    found = noted if known else learned.read(cache) if cache else {}
    if not found:
        found = {"key": key, **_try(job)}
        if cache is not None and "learned" in found:
            cache.parent.mkdir(parents=True, exist_ok=True)
            write_json(cache, found)
    write_json(job.folder / learned.NOTE, found)
    failed = learned.obstacle(found)
    if failed is None:
        return
    if spec.export.required:
        raise Failure(**failed)
    job.spec = msgspec.structs.replace(spec, export=None)
    if not known:
        job.warn("no_gguf", f"This training makes an adapter and no GGUF file. {failed['message']}")


def _try(job: Job) -> learned.Note:
    """`{"learned": …}` or `{"failed": …}`, as the process of `walk` says."""
    said: learned.Note = {}
    reported, detail = 0.0, ""

    def hear(line: str) -> None:
        nonlocal reported, detail
        try:
            value = json.loads(line)
        except ValueError:
            # A library's.
            print(line, file=sys.stderr)
            return
        if "progress" in value:
            if value["detail"] != detail or time.monotonic() - reported >= REPORT_SECONDS:
                reported, detail = time.monotonic(), value["detail"]
                job.phase("dry_run", value["progress"], detail)
        else:
            said.update(value)

    job.phase("dry_run", 0.0, "starting")
    status = node_tools.follow(_start(str(job.folder / "spec.json")), hear, job.beat_or_stop)
    if said:
        return said
    ended = f"signal {-status}" if status < 0 else f"exit status {status}"
    # Killed for its memory, most likely.
    code = "out_of_memory_host" if status == -9 else "internal"
    message = f"The trial of the export ended with {ended}."
    return {"failed": Failure(code, message, "See the end of the job's log.").fields()}


def _start(spec_path: str) -> subprocess.Popen[bytes] | Fork:
    """The process that tries the export: a fork, which has the libraries, where that is safe."""
    if forking_is_safe():
        return Fork(lambda: _walk(spec_path))
    command = [sys.executable, "-m", "trainer", "dry-run", spec_path]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


def _walk(spec_path: str) -> int:
    from trainer.dry_run.walk import main

    return main(spec_path)


def _key(spec: Spec) -> str:
    """Equal only for the same base, converter, exporting code and choices of the request."""
    assert spec.tools is not None
    parts = [
        identity(base_directory(spec)),
        metadata.version("transformers"),
        json.dumps([getattr(spec.settings, name) for name in CHOICES]),
    ]
    for folder in (Path(spec.tools.converter) / "conversion", TRAINER / "export", TRAINER / "dry_run"):
        for path in sorted(folder.rglob("*.py")):
            facts = path.stat()
            parts.append(f"{path} {facts.st_size} {facts.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
