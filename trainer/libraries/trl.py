"""What Hone uses of TRL's trainers beside their public interface.

TRL has no public way to compute a loss within DDP's forward pass, to log figures of a batch beside its own,
or to take rows that are tokenized already (`dataset_kwargs` has one, but for the SFT trainer alone).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from trainer.libraries.versions import require

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel, Trainer
    from transformers import Trainer as Base
else:
    Base = object

require("trl")

T = TypeVar("T")


def within_forward(model: Module, unwrapped: Module, function: Callable[..., T], *given: object) -> T:
    """What `function` returns for `given`, called within the forward pass of `model`, which may wrap
    `unwrapped` in DDP: only then DDP averages the gradients of the ranks."""
    if model is unwrapped:
        return function(*given)
    from trl.models.utils import _ForwardRedirection

    return _ForwardRedirection()(model, unwrapped, function, *given)


def figures_of(trainer: Trainer, training: bool) -> dict[str, list[float]] | None:
    """The figures that `trainer` logs next, a value for each micro-batch: those of training or of evaluation.
    None of a trainer that is not TRL's."""
    found = getattr(trainer, "_metrics", None)
    return None if found is None else found["train" if training else "eval"]


def tokens_of(trainer: Trainer) -> int:
    """The tokens that `trainer` has counted in training; 0 of one that is not TRL's."""
    return getattr(trainer, "_total_train_tokens", 0)


def add_tokens(trainer: Trainer, number: int) -> None:
    """Counts `number` tokens of training."""
    trainer._total_train_tokens += number


def forget_figures(trainer: Trainer) -> None:
    """Sets figures and tokens of `trainer` back to those of the start."""
    for counts in getattr(trainer, "_metrics", {}).values():
        counts.clear()
    if hasattr(trainer, "_total_train_tokens"):
        trainer._total_train_tokens = 0


@contextmanager
def without_figures(trainer: Trainer) -> Iterator[None]:
    """Forgets the figures of what is computed meanwhile."""
    names = ("_metrics", "_total_train_tokens")
    kept = {name: getattr(trainer, name) for name in names if hasattr(trainer, name)}
    if "_metrics" in kept:
        trainer._metrics = {mode: defaultdict(list) for mode in kept["_metrics"]}
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(trainer, name, value)


def answers_to(trainer: Trainer, prompts: list[str]) -> list[list[int]]:
    """The tokens of an answer to each of `prompts`, of which equal ones follow each other, as `trainer`
    generates them in training; it does not count them."""
    seen = trainer.state.num_input_tokens_seen
    with without_figures(trainer):
        _, answers, *_ = trainer._generate(prompts)
    trainer.state.num_input_tokens_seen = seen
    return answers


class TokenizedRows(Base):
    """Takes the rows of the dataset as they are: they are tokenized."""

    def _prepare_dataset(self, dataset: Dataset, *args: object) -> Dataset:
        return dataset


class RenderedPrompts(Base):
    """Tokenizes prompts that are rendered: they contain their special tokens."""

    def _tokenize_prompts(self, prompts: list[str]) -> Any:
        return self.processing_class(text=prompts, add_special_tokens=False)["input_ids"], None, {}


class PolicySteps(Base):
    """The steps of the RLOO and GRPO trainers that Hone computes otherwise, under names of its own."""

    def continue_prompts(self, prompt_ids: list[list[int]]) -> list[list[int]]:
        """Answers to prompts, of which those with several answers follow each other."""
        raise NotImplementedError

    def answering(self) -> AbstractContextManager[None]:
        """What the prompts of a step are answered and scored within."""
        raise NotImplementedError

    def answer_log_probabilities(
        self, rows: list[list[int]], prompts: list[int], answered: Tensor, most: int | None, figures: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The log-probabilities of the tokens of the answers, where `answered` (rows, width), and with
        `figures` their entropies, both (rows, width). `rows` have `prompts` tokens of prompts each, and are
        computed `most` at a time."""
        raise NotImplementedError

    def _generate_single_turn(self, prompt_ids: list[list[int]], *others: object) -> Any:
        return self.continue_prompts(prompt_ids)

    def _generate_and_score_completions(self, inputs: list[dict[str, object]]) -> dict[str, Tensor]:
        with self.answering():
            return super()._generate_and_score_completions(inputs)

    def _get_per_token_logps_and_entropies(
        self,
        model: PreTrainedModel,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **others: object,
    ) -> tuple[Tensor, Tensor | None, None]:
        seen = attention_mask.bool()
        rows = [ids[mask].tolist() for ids, mask in zip(input_ids, seen, strict=True)]
        prompts = seen[:, :-logits_to_keep].sum(1).tolist()
        answered = seen[:, -logits_to_keep:]
        return *self.answer_log_probabilities(rows, prompts, answered, batch_size, compute_entropy), None


class GroupSteps(PolicySteps):
    """Those of the GRPO trainer, where they differ."""

    def _generate_single_turn(self, prompt_ids: list[list[int]], *others: object) -> Any:
        # Without the log-probabilities that another engine would give.
        return self.continue_prompts(prompt_ids), None
