"""The trainer's side of the contract: the job specification and the lines of the journal.

`contract.json` and `settings.py` are made of the service's `src/contract/` (`npm run generate`).
`test/contract/` holds a golden specification and journal; the tests of both languages read them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trainer.protocol.settings import Settings

CONTRACT: dict[str, Any] = json.loads((Path(__file__).parent / "contract.json").read_text(encoding="utf-8"))
PROTOCOL: int = CONTRACT["protocol"]
# What every line of a type carries beside `seq`, `time` and `type`: kinds of values, or the texts allowed.
LINES: dict[str, dict[str, str | list[str]]] = CONTRACT["journal"]
ROW_SHAPES: dict[str, tuple[str, ...]] = {name: tuple(fields) for name, fields in CONTRACT["rows"].items()}
# The GGUF types that llama.cpp's converter writes; the others are quantized from one of them.
DIRECT_QUANTIZATIONS = tuple(name for name, row in CONTRACT["quantizations"].items() if row["direct"])
# Those that are made by an importance matrix of the model's own rows, where there is one.
IMPORTANCE_QUANTIZATIONS = tuple(name for name, row in CONTRACT["quantizations"].items() if row["importance"])

# Architectures of GGUF files that can be a base, by llama.cpp's name: transformers' model type and class.
GGUF_ARCHITECTURES: dict[str, dict[str, str]] = CONTRACT["gguf_architectures"]

# The copy of a parent's adapter in the job folder (src/domain/training/job-spec.ts).
PARENT = "parent/adapter_model.safetensors"

# Kinds of values of journal lines, as Python has them.
LINE_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "text": (str,),
    "numbers": (dict,),
    "texts": (dict,),
    "verification": (dict,),
    "export": (dict,),
}


class ContractError(ValueError):
    """A specification or a journal line that breaks the contract; the text names the field."""


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the specification. A field with a default may be absent: some job folders are older."""


class Adapter(Strict, frozen=True):
    """The folder of an adapter that is merged into its base before the training. `base` is `owner/name` on
    the hub, or a directory, which `base_path` is then, too."""

    path: str
    base: str
    base_path: str | None


class Parent(Strict, frozen=True):
    """The model of Hone that a training goes on from, and the `step` of its checkpoint, if it is one. With
    `how` "adapter", the adapter that the job folder has a copy of (PARENT) is trained on; with "merged" and
    "whole", the job's base model has what the parent learned."""

    model_id: str
    name: str
    step: int | None
    how: str
    why: str | None


class Model(Strict, frozen=True):
    """`name` is `owner/name` on the hub or the caller's word for a directory; `path` is set when local.
    `gguf` is the GGUF file, and `adapter` the adapter, that the directory is made of, if it is. `parent` is
    what the training goes on from, if it does."""

    name: str
    path: str | None
    gguf: str | None = None
    adapter: Adapter | None = None
    parent: Parent | None = None


class Teacher(Strict, frozen=True):
    """The model that a student learns from: `name` is `owner/name` on the hub or the caller's word for a
    directory, `path` is set when local, `gguf` is the GGUF file that the directory is made of, if it is, and
    `adapter` the folder of its adapter, if it has one."""

    name: str
    path: str | None
    gguf: str | None = None
    adapter: str | None = None

    @property
    def base(self) -> Model:
        """The teacher without its adapter."""
        return Model(self.name, self.path, self.gguf)


class DatasetFile(Strict, frozen=True):
    """The job's own copy of the rows, one JSON object a line; `shape` is one of ROW_SHAPES, None in older job
    folders: that of the strategy or the task."""

    name: str
    path: str
    rows: int
    shape: str | None = None


class Export(Strict, frozen=True):
    """The GGUF files to make. Where nobody asked for them (`required` is false), a model that llama.cpp
    cannot run is trained without."""

    quantizations: list[str]
    required: bool = True


class Disk(Strict, frozen=True):
    """What the run writes, by the weights of the base model and those that are trained, as the service worked
    it out; the trainer has their exact numbers."""

    checkpoints_bytes: float
    checkpoints_per_trained_weight: float
    export_per_weight: float
    export_per_trained_weight: float
    spare_bytes: float
    teacher_bytes: float = 0


class Tools(Strict, frozen=True):
    """Argument vectors of the programs that reach llama.cpp and the playground's renderer, and the folder of
    llama.cpp's converter. `bases` is the folder for what is known of base models."""

    quantize: list[str]
    score: list[str]
    converter: str
    render: list[str] = []
    bases: str | None = None


class Tracking(Strict, frozen=True):
    """The trackers that the service passes the figures of a run to (trainer/tracking)."""

    report_to: list[str]
    project: str


class Spec(Strict, frozen=True):
    """One job, complete."""

    protocol: int
    job_id: str
    job_dir: str
    task: str
    provider: str
    strategy: str
    model: Model
    dataset: DatasetFile
    settings: Settings
    export: Export | None
    tensorboard_dir: str | None
    tools: Tools | None
    disk: Disk | None = None
    validation: DatasetFile | None = None
    tracking: Tracking | None = None
    teacher: Teacher | None = None

    @property
    def folder(self) -> Path:
        """The job folder."""
        return Path(self.job_dir)

    @property
    def start(self) -> Path | None:
        """The file with the adapter that the training goes on from; None where it begins a new one."""
        parent = self.model.parent
        return self.folder / PARENT if parent is not None and parent.how == "adapter" else None


def read_spec(path: str | Path) -> Spec:
    """The specification at `path`; ContractError names an unknown, missing or mistyped field."""
    try:
        spec = msgspec.json.decode(Path(path).read_bytes(), type=Spec)
    except msgspec.MsgspecError as error:
        raise ContractError(f"The job specification cannot be read: {error}") from error
    if spec.protocol != PROTOCOL:
        raise ContractError(
            f"The job specification speaks protocol {spec.protocol}; this trainer {PROTOCOL}."
        )
    return spec


def check_line(kind: str, fields: Mapping[str, object]) -> None:
    """ContractError unless `fields` are exactly those of a journal line of type `kind`."""
    table = LINES.get(kind)
    if table is None:
        raise ContractError(f"The journal has no line of type {kind!r}.")
    if set(fields) != set(table):
        difference = ", ".join(sorted(set(fields) ^ set(table)))
        raise ContractError(f"A {kind} line has the wrong fields: {difference}")
    for name, allowed in table.items():
        if not _fits(fields[name], allowed):
            raise ContractError(f"{kind}.{name} may not be {fields[name]!r}.")


def _fits(value: object, allowed: str | list[str]) -> bool:
    """Whether `value` is of a kind, or one of the texts that are allowed."""
    if isinstance(allowed, list):
        return value in allowed
    if value is None:
        return allowed.endswith("?")
    types = LINE_TYPES[allowed.rstrip("?")]
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))
