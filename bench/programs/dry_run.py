"""Tries the export of a job's base three times, as a run does: `python dry_run.py SPEC`.

Prints wall and CPU seconds of each, child processes included: with nothing known of the base, in a process of its own, as the
trainer does when nothing is warm; as the fork of a warm trainer, which has the libraries; and as another run of the base finds
what the one before has learned.
"""

import json
import resource
import sys
import time
from pathlib import Path

from trainer.dry_run.start import dry_run
from trainer.export import learned
from trainer.preload import load
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec
from trainer.warm import MODULES


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def tried(spec: Path) -> dict[str, object]:
    """What a trial for the job took, and what it learned."""
    context = JobContext.open(read_spec(spec))
    begun, cpu = time.perf_counter(), cpu_seconds()
    dry_run(context)
    took = {"wall": time.perf_counter() - begun, "cpu": cpu_seconds() - cpu}
    phases = (
        (spec.parent / "journal.jsonl").read_text(encoding="utf-8").count('"dry_run"')
    )
    return {
        **took,
        "phases": phases,
        **learned.read(spec.parent / learned.NOTE)["learned"],
    }


def again(spec: Path, name: str, known: bool) -> Path:
    """The same job in a folder of its own, `name`, with the folder of bases of `spec` if what it learned is `known`."""
    content = json.loads(spec.read_text(encoding="utf-8"))
    folder = spec.parent.with_name(f"{spec.parent.name}-{name}")
    folder.mkdir()
    if not known:
        content["tools"]["bases"] = str(folder / "bases")
    copy = folder / spec.name
    copy.write_text(json.dumps({**content, "job_dir": str(folder)}), encoding="utf-8")
    return copy


alone = Path(sys.argv[1])
cold = tried(alone)
if not load(MODULES):
    sys.exit("Forking is not safe.")
warm = again(alone, "warm", known=False)
print("\n" + json.dumps([cold, tried(warm), tried(again(warm, "known", known=True))]))
