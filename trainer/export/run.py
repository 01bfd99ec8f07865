"""The export at the end of a training."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trainer.export import outcome
from trainer.export.make import make
from trainer.protocol.context import JobContext
from trainer.protocol.stop import Stopped


def run_export(job: JobContext) -> None:
    """Makes every GGUF that `spec.export` names from the job folder's `trained.json` and `artifacts/`, and
    ends the journal with `done`.

    Whatever fails is reported in its `export`. No file appears under `artifacts/` before it is complete and
    verified. A stop leaves the folder as it was; the next run starts over.
    """
    trained = json.loads((job.folder / "trained.json").read_text("utf-8"))
    wanted = job.spec.export.quantizations if job.spec.export else []
    verification: Mapping[str, object] | None = None
    try:
        export, verification = make(job, wanted, trained)
    except Stopped:
        job.done("stopped", trained["step"], trained["metrics"])
        return
    except Exception as error:
        export = outcome.failed(error, [name.upper() for name in wanted])
    job.done("completed", trained["step"], trained["metrics"], verification, export)
