"""Trains as a rank on a node, in the process of its actor or in a fork of the node's keeper."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from trainer.data.job import Trained
from trainer.engines.cluster.outbox import Reports
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import DatasetFile, Model, Spec
from trainer.protocol.failures import explain
from trainer.protocol.rank import Rank, lost_a_peer
from trainer.protocol.silent import silent_context
from trainer.protocol.stop import Stopped
from trainer.work import train_on_node

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

# The first fields of a Rank.
Place = tuple[int, int, int, str, str | None]


class RankTask(TypedDict):
    """What a rank is sent: the encoded specification, the base's configuration, the step to resume from, the
    fingerprints of files by name, and where the ranks meet."""

    spec: bytes
    config: ModelConfig
    resume: int | None
    files: dict[str, str]
    meeting: str


class Ended(Trained, total=False):
    """How a rank ended: as a training, or `failed` with the fields of a Failure."""

    failed: dict[str, Any]
    peer_lost: bool


def train_rank(reports: Reports, place: Place, task: RankTask) -> Ended:
    """The result of the rank at `place` (the first fields of Rank), which trains in the folder of its
    `reports`: see NodeRank.run."""
    rank = Rank(*place, alone=True)
    try:
        spec = spec_in(reports.folder, msgspec.json.decode(task["spec"], type=Spec))
        context = JobContext(spec, reports, reports, reports) if rank.first else silent_context(spec)
        result: Ended = {**train_on_node(context, rank, task["config"], task["resume"])}
        for name in ("artifacts/export.json", "artifacts/reference.safetensors", "trained.json"):
            if rank.first and (reports.folder / name).exists():
                reports.send(name)
        return result
    except Stopped:
        return {"stopped": "stop", "step": None, "metrics": {}}
    except BaseException as error:
        return failed(error)


def failed(error: BaseException) -> Ended:
    """The result of a rank that failed by `error`; `peer_lost` where that is because another one was gone."""
    traceback.print_exc()
    sys.stderr.flush()
    return {"failed": explain(error).fields(), "peer_lost": lost_a_peer(error)}


def spec_in(folder: Path, spec: Spec) -> Spec:
    """`spec` for a rank in `folder`, which has the model and the rows."""
    rows = {"dataset": spec.dataset, "validation": spec.validation}
    # Their paths are those of the service's machine, which may be another one.
    render = spec.tools.render if spec.tools else []
    return msgspec.structs.replace(
        spec,
        job_dir=str(folder),
        model=Model(spec.model.name, str(folder / "model")),
        tensorboard_dir=None,
        tools=spec.tools if render and Path(render[-1]).exists() else None,
        **{
            name: DatasetFile(file.name, str(folder / f"{name}.jsonl"), file.rows, file.shape)
            for name, file in rows.items()
            if file is not None
        },
    )
