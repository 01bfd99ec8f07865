"""What every part of a training shares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from trainer.data import conversations, pairs, tools
from trainer.data.template import Template
from trainer.data.tools import Given
from trainer.grading.score import figure
from trainer.protocol.checkpoints import Checkpoint
from trainer.protocol.context import JobContext
from trainer.protocol.contracts import ROW_SHAPES, Settings
from trainer.protocol.model_config import ModelConfig
from trainer.protocol.rank import Rank

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from trainer.model.hardware import Hardware
    from trainer.protocol.row import Message, Row


class Trained(TypedDict, total=False):
    """What a training ends with. `stopped` is None, `stop` or `signal`, and `step` None where a rank was
    stopped before it trained; `references` are tokens of prompts and of answers, `golden` the prompts that
    the exported file is asked, and `rows` the tokens of some training rows."""

    step: int | None
    stopped: str | None
    metrics: dict[str, float]
    model: PreTrainedModel
    references: Sequence[tuple[list[int], list[int] | None]]
    golden: list[dict[str, object]]
    rows: Sequence[list[int]]


class Task(Protocol):
    """What every class in `tasks/` has. `score` is only called where there is something `scored`."""

    name: str
    label: str
    description: str
    row_shapes: tuple[str, ...]
    families: tuple[str, ...]
    metrics: tuple[str, ...]
    scored: tuple[str, ...]
    best: tuple[str, bool]

    def messages(self, row: Row) -> list[Message]:
        """The conversation of a row."""

    def score(self, answers: list[str], references: list[str]) -> dict[str, float]:
        """The figures of `scored`."""


class Strategy(Protocol):
    """What every class in `strategies/` has. One may have a `best` of its own, as a Task has."""

    name: str
    label: str
    description: str
    row_shape: str | None
    families: tuple[str, ...]
    tasks: tuple[str, ...]
    providers: tuple[str, ...]

    def train(self, job: Job) -> Trained:
        """Trains to the end or to a stop."""


class Adapted(Protocol):
    """What LoRA's configuration is chosen by."""

    @property
    def settings(self) -> Settings: ...
    @property
    def config(self) -> ModelConfig: ...
    @property
    def model_dir(self) -> Path: ...
    @property
    def tokenizer(self) -> PreTrainedTokenizerBase: ...


class Provider(Protocol):
    """What every class in `providers/` has; its methods are documented in `providers/standard.py`."""

    name: str
    label: str
    description: str
    own_kernels: bool
    absence: tuple[str, str]

    def availability(self) -> tuple[bool, str | None]: ...
    def refuse(self, config: ModelConfig, family: str, settings: Settings) -> None: ...
    def prepare(self, job: Job) -> None: ...
    def tokenizer(self, job: Job) -> PreTrainedTokenizerBase: ...
    def base(self, job: Job, hardware: Hardware, auto_class: str, **options: object) -> PreTrainedModel: ...
    def adapt(
        self, job: Job, model: PreTrainedModel, task_type: str, also_train: list[str] | None = None
    ) -> PreTrainedModel: ...
    def adapt_for_pairs(
        self, job: Job, model: PreTrainedModel
    ) -> tuple[PreTrainedModel, LoraConfig | None]: ...
    def lora(
        self, job: Adapted, model: PreTrainedModel, task_type: str, also_train: list[str] | None = None
    ) -> LoraConfig: ...


@dataclass
class Job(JobContext):
    """One training: its context, its parts, and what is known of the model so far."""

    task: Task
    strategy: Strategy
    provider: Provider
    resume: Checkpoint | None
    # Known after the first checks of a run, as are `tokenizer` and `template`; nothing reads them before.
    model_dir: Path = field(init=False, repr=False)
    reward_dir: Path | None = None
    teacher_dir: Path | None = None
    config: ModelConfig = field(default_factory=ModelConfig)
    family: str = "causal"
    tokenizer: PreTrainedTokenizerBase = field(init=False, repr=False)
    template: Template = field(init=False, repr=False)
    rank: Rank = field(default_factory=Rank)
    # How often workers of this run were lost.
    lost: int = 0

    @property
    def settings(self) -> Settings:
        """The training request's fields."""
        return self.spec.settings

    @property
    def shape(self) -> str:
        """The shape of the rows, one of ROW_SHAPES."""
        return self.spec.dataset.shape or self.strategy.row_shape or self.task.row_shapes[0]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that every row has."""
        return ROW_SHAPES[self.shape]

    @property
    def evaluated_by(self) -> list[str]:
        """The figures of the graders that score the answers to validation rows. With `grpo`, graders are the
        reward instead."""
        if self.strategy.row_shape == "prompt":
            return []
        uses: list[dict[str, Any]] = self.settings.graders or []
        return [figure(use["grader"]["name"]) for use in uses]

    def of_folder(self, folder: Path) -> Job:
        """The same for what a training of all weights has saved in `folder`, as `provider.base` loads it."""
        found = copy(self)
        found.config = json.loads((folder / "config.json").read_text("utf-8"))
        found.model_dir = folder
        return found

    def conversation(self, row: Row) -> list[Message]:
        """The conversation of a row with the weights of its answers, of which a preference has the chosen and
        a prompt an empty one."""
        if self.shape == "messages":
            return tools.conversation(row, row["messages"])
        if "prompt" not in self.fields:
            return self.task.messages(row)
        return pairs.conversation(row, *pairs.ANSWERS.get(self.shape, ())[:1])

    def messages(self, row: Row) -> list[Given]:
        """The conversation of a row, the (last learned) answer last."""
        return conversations.to_last_answer(self.template, self.conversation(row))

    def report_path(
        self, padded: str | None, otherwise: str = "padded rows", who: str = "This run trains"
    ) -> str | None:
        """Reports whether padding is left out, or why it is computed: `padded`. `otherwise` says how rows are
        computed then. The log keeps it, too, and says `who` it is about.

        All ranks compute it where one of them must, as they exchange other things then; returns why.
        """
        padded = next((why for why in self.rank.all_gather(padded) if why is not None), None)
        said = "rows without padding" if padded is None else f"{otherwise}: {padded}"
        self.phase("load", None, said)
        print(f"{who} on {said}.", flush=True)
        return padded

    def best_metric(self) -> tuple[str, bool]:
        """The evaluation metric that decides which checkpoint is best, and whether higher is better: the mean
        of the first grader, if graders score the answers."""
        if self.evaluated_by:
            return f"eval_{self.evaluated_by[0]}", True
        return getattr(self.strategy, "best", None) or self.task.best
