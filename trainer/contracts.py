"""The trainer's side of the contract: the job specification and the lines of the journal.

`test/contract/` holds one golden file of each; the tests of both languages read them.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from dataclasses import dataclass
from pathlib import Path

PROTOCOL = 1

PHASES = (
    "check",
    "download",
    "load",
    "probe",
    "train",
    "evaluate",
    "merge",
    "convert",
    "quantize",
    "verify",
)

FAILURE_CODES = (
    "out_of_memory_gpu",
    "out_of_memory_host",
    "disk_full",
    "model_not_accessible",
    "model_gated",
    "bad_model",
    "bad_tokenizer",
    "bad_dataset_row",
    "loss_not_finite",
    "killed",
    "stalled",
    "dependency_missing",
    "unsupported",
    "verification_failed",
    "internal",
)

NUMBER = (int, float)
NULL = type(None)

# What every line of a type carries beside `seq`, `time` and `type`, and the JSON types of each field.
LINES: dict[str, dict[str, tuple[type, ...]]] = {
    "hello": {"protocol": (int,), "pid": (int,), "resumed_from_step": (int, NULL), "versions": (dict,)},
    "phase": {"phase": (str,), "progress": (*NUMBER, NULL), "detail": (str, NULL)},
    "metric": {
        "step": (int,),
        "total_steps": (int,),
        "epoch": NUMBER,
        "total_epochs": NUMBER,
        "loss": (*NUMBER, NULL),
        "learning_rate": (*NUMBER, NULL),
        "grad_norm": (*NUMBER, NULL),
        "tokens": (int,),
        "tokens_per_second": (*NUMBER, NULL),
        "elapsed_seconds": NUMBER,
        "eta_seconds": (*NUMBER, NULL),
        "memory_bytes": (int, NULL),
        "extra": (dict,),
    },
    "eval": {"step": (int,), "epoch": NUMBER, "metrics": (dict,)},
    "sample": {"step": (int,), "prompt": (str,), "text": (str,)},
    "checkpoint": {"step": (int,), "path": (str,), "reason": (str,), "best": (bool,)},
    "artifact": {"kind": (str,), "path": (str,), "bytes": (int,), "quantization": (str, NULL)},
    "warning": {"code": (str,), "message": (str,)},
    "done": {"outcome": (str,), "step": (int,), "metrics": (dict,), "verification": (dict, NULL)},
    "failed": {"code": (str,), "message": (str,), "advice": (str,), "evidence": (str,)},
}

# Fields whose strings come from a closed list.
CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("phase", "phase"): PHASES,
    ("checkpoint", "reason"): ("interval", "stop", "end", "signal"),
    ("artifact", "kind"): ("adapter", "adapter_gguf", "gguf", "modelfile", "template", "verification"),
    ("done", "outcome"): ("completed", "stopped"),
    ("failed", "code"): FAILURE_CODES,
}


class ContractError(ValueError):
    """A specification or a journal line that breaks the contract; the text names the field."""


@dataclass(frozen=True)
class Model:
    """`name` is `owner/name` on the hub or the caller's word for a directory; `path` is set when local."""

    name: str
    path: str | None


@dataclass(frozen=True)
class DatasetFile:
    """The job's own copy of the rows, one JSON object a line."""

    name: str
    path: str
    rows: int


@dataclass(frozen=True)
class Settings:
    """The training request's own fields; null means that the trainer chooses by what the machine has."""

    num_train_epochs: float
    max_steps: int
    per_device_train_batch_size: int
    per_device_eval_batch_size: int
    gradient_accumulation_steps: int
    learning_rate: float
    weight_decay: float
    max_grad_norm: float
    max_seq_length: int
    lora_r: int
    lora_alpha: float
    lora_dropout: float
    target_modules: list[str] | None
    warmup_ratio: float
    lr_scheduler_type: str
    optim: str
    eval_split: float
    eval_steps: int | None
    use_4bit: bool
    use_8bit: bool
    bf16: bool | None
    fp16: bool | None
    gradient_checkpointing: bool | None
    packing: bool
    use_chat_template: bool | None
    seed: int
    device: str
    save_steps: int | None
    save_total_limit: int | None
    early_stopping_patience: int | None
    keep_best: bool
    reward_model: str | None
    golden_prompts: list[str] | None


@dataclass(frozen=True)
class Export:
    """The GGUF files to make."""

    quantizations: list[str]


@dataclass(frozen=True)
class Tools:
    """Argument vectors of the programs that reach llama.cpp, and the folder of its converter."""

    quantize: list[str]
    score: list[str]
    converter: str


@dataclass(frozen=True)
class Spec:
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

    @property
    def folder(self) -> Path:
        """The job folder."""
        return Path(self.job_dir)


def read_spec(path: str | Path) -> Spec:
    """The specification at `path`; ContractError names an unknown, missing or mistyped field."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ContractError(f"The job specification is not JSON: {error}") from error
    spec = parse(Spec, value, "")
    if spec.protocol != PROTOCOL:
        raise ContractError(
            f"The job specification speaks protocol {spec.protocol}; this trainer {PROTOCOL}."
        )
    return spec


def parse(kind: typing.Any, value: typing.Any, where: str) -> typing.Any:
    """`value` as `kind` (a dataclass, list, union or scalar type), strictly; `where` names it in errors."""
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, dict):
            raise ContractError(f"{where or 'The job specification'} must be an object.")
        hints = typing.get_type_hints(kind)
        prefix = f"{where}." if where else ""
        for name in value:
            if name not in hints:
                raise ContractError(f"Unknown field in the job specification: {prefix}{name}")
        for name in hints:
            if name not in value:
                raise ContractError(f"Missing field in the job specification: {prefix}{name}")
        return kind(**{name: parse(hint, value[name], f"{prefix}{name}") for name, hint in hints.items()})
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(kind) if option is not NULL]
        return None if value is None else parse(options[0], value, where)
    if origin is list:
        if not isinstance(value, list):
            raise ContractError(f"{where} must be a list.")
        (item,) = typing.get_args(kind)
        return [parse(item, entry, f"{where}[{index}]") for index, entry in enumerate(value)]
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise ContractError(f"{where} must be {kind.__name__}, not {json.dumps(value)}.")
    return value


def check_line(kind: str, fields: dict[str, typing.Any]) -> None:
    """ContractError unless `fields` are exactly those of a journal line of type `kind`."""
    table = LINES.get(kind)
    if table is None:
        raise ContractError(f"The journal has no line of type {kind!r}.")
    if set(fields) != set(table):
        difference = ", ".join(sorted(set(fields) ^ set(table)))
        raise ContractError(f"A {kind} line has the wrong fields: {difference}")
    for name, allowed in table.items():
        value = fields[name]
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise ContractError(f"{kind}.{name} may not be {value!r}.")
        choices = CHOICES.get((kind, name))
        if choices and value not in choices:
            raise ContractError(f"{kind}.{name} may not be {value!r}.")
