"""The TensorBoard log of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from trainer.libraries.torch import add_summaries

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from trainer.protocol.contracts import Spec


class TensorBoardLog:
    """Writes scalars, and the hyperparameters once. Does nothing when the specification names no folder."""

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None

    def open(self, spec: Spec, step: int) -> None:
        """Starts the log at `step`; what an earlier process logged after it is dropped."""
        if spec.tensorboard_dir is None:
            return
        from torch.utils.tensorboard import SummaryWriter
        from torch.utils.tensorboard.summary import hparams

        self._writer = SummaryWriter(spec.tensorboard_dir, purge_step=step + 1 if step else None)
        values: dict[str, bool | int | float | str] = {
            "task": spec.task,
            "strategy": spec.strategy,
            "provider": spec.provider,
        }
        values.update(model=spec.model.name, dataset=spec.dataset.name)
        if spec.validation is not None:
            values["validation_dataset"] = spec.validation.name
        for name, value in msgspec.structs.asdict(spec.settings).items():
            values[name] = value if isinstance(value, (bool, int, float, str)) else str(value)
        add_summaries(self._writer, hparams(values, {"train/loss": 0}))

    def add(self, group: str, values: Mapping[str, object], step: int) -> None:
        """Adds every finite number of `values`, as `group/name`."""
        if self._writer is None:
            return
        for name, value in values.items():
            if isinstance(value, (int, float)) and math.isfinite(value) and not name.endswith("step"):
                self._writer.add_scalar(f"{group}/{name}", value, step)

    def close(self) -> None:
        """Flushes and closes the log."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
