"""What a journal and a specification hold for a tracker: figures and settings, no prompts and answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

#: The fields of a journal line that are no figures of a step.
_HEAD = {"seq", "step", "type", "time", "extra"}


class Figures(NamedTuple):
    """Figures of a step."""

    step: int
    time: datetime
    values: dict[str, float]


class Reader:
    """Makes figures of journal lines."""

    def __init__(self) -> None:
        #: The step of the last sample, and how many samples of this step there were.
        self._samples = (-1, 0)

    def read(self, line: Mapping[str, Any]) -> Figures | None:
        """The figures of a line: `train/…`, `eval/…`, `sample/<number of the prompt>/…` and, of the end of a
        run, `final/…` and `verification/…`. None for a line without any."""
        kind = line["type"]
        if kind == "metric":
            fields = {name: value for name, value in line.items() if name not in _HEAD}
            values = _numbers({"train": {**fields, **line["extra"]}})
        elif kind == "eval":
            values = _numbers({"eval": {**line["metrics"], "epoch": line["epoch"]}})
        elif kind == "sample":
            step, before = self._samples
            self._samples = (line["step"], before + 1 if line["step"] == step else 1)
            values = _numbers({"sample": {self._samples[1]: line.get("scores")}})
        elif kind == "done":
            # An example with texts is among those of the verification.
            verification = {**(line["verification"] or {}), "tokens_differ": None}
            values = _numbers({"final": line["metrics"], "verification": verification})
        else:
            return None
        if not values:
            return None
        return Figures(line["step"], datetime.fromisoformat(line["time"].replace("Z", "+00:00")), values)


def settings_of(spec: Mapping[str, Any]) -> dict[str, bool | int | float | str]:
    """What a run was started with. Lists and objects, which may hold the user's texts, are left out, and of
    paths all but the name."""
    values: dict[str, object] = {name: spec[name] for name in ("task", "strategy", "provider")}
    values |= {"model": spec["model"]["name"], "dataset": spec["dataset"]["name"]}
    if spec.get("validation") is not None:
        values["validation_dataset"] = spec["validation"]["name"]
    return {
        name: _without_folder(value) if isinstance(value, str) else value
        for name, value in (values | spec["settings"]).items()
        if isinstance(value, (bool, int, float, str))
    }


def _without_folder(name: str) -> str:
    return Path(name).name if Path(name).is_absolute() else name


def _numbers(value: object, name: str = "") -> dict[str, float]:
    """The numbers in nested objects, each by its path."""
    if isinstance(value, Mapping):
        parts = [
            _numbers(inner, f"{name}/{key}" if name else str(key)).items() for key, inner in value.items()
        ]
        return dict(pair for part in parts for pair in part)
    return {name: value} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}
