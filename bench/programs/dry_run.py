"""Tries the export of a job's base twice, as a run does: `python dry_run.py SPEC`.

Prints wall and CPU seconds of both, child processes included: with nothing known of the base, and as another run of it finds
it.
"""

import json
import resource
import sys
import time
from pathlib import Path

from trainer.dry_run.start import dry_run
from trainer.export import learned
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import read_spec


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
    phases = (spec.parent / "journal.jsonl").read_text(encoding="utf-8").count('"dry_run"')
    return {**took, "phases": phases, **learned.read(spec.parent / learned.NOTE)["learned"]}


first = Path(sys.argv[1])
second = first.parent.with_name(f"{first.parent.name}-again") / first.name
second.parent.mkdir()
content = json.loads(first.read_text(encoding="utf-8"))
second.write_text(json.dumps({**content, "job_dir": str(second.parent)}), encoding="utf-8")
print("\n" + json.dumps([tried(first), tried(second)]))
