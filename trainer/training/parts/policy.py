"""RLOO and GRPO without padding: each prompt is computed once for all of its answers.

Imports torch; import it inside functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

import torch

from trainer.libraries.peft import without_adapter
from trainer.libraries.trl import GroupSteps, PolicySteps
from trainer.padding_free.answers import token_log_probabilities
from trainer.padding_free.continuing import RandomSampler, Sampler, continue_prompts
from trainer.training.parts.part import Part, training_precision
from trainer.training.random_state import random_state_of_whole

if TYPE_CHECKING:
    from torch import Tensor

    from trainer.data.job import Job
    from trainer.training.rewards.answer_format import AnswerFormat


class Policy(PolicySteps, Part):
    """The same answers for the same random numbers, and the same loss, as TRL's RLOO trainer has."""

    job: Job
    # What answers are held to, if to anything.
    answer_format: AnswerFormat | None = None
    # Whether the library computes the answers by the policy before it trains on them.
    computes_first = True

    # Of the last answers: by row its index in what follows, their log-probabilities and entropies.
    _known: tuple[dict[tuple[int, ...], int], list[Tensor], list[Tensor] | None] | None = None
    # Whether the next pass is the one of the policy before its update.
    _is_policy = False

    def continue_prompts(self, prompt_ids: list[list[int]]) -> list[list[int]]:
        groups = [(prompt, len(list(same))) for prompt, same in groupby(prompt_ids)]
        prompts = [prompt for prompt, _ in groups]
        sampler: Sampler = RandomSampler(len(prompt_ids))
        if self.answer_format is not None:
            sampler = self.answer_format.sampler(sampler, len(prompt_ids))
        return continue_prompts(
            self.accelerator.unwrap_model(self.model),
            prompts,
            copies=[number for _, number in groups],
            most=[self.max_completion_length] * len(prompts),
            ends=self.eos_token_ids,
            sampler=sampler,
            step=lambda done: self.job.beat_or_stop(),
        )

    @contextmanager
    def answering(self) -> Iterator[None]:
        self._known, self._is_policy = None, self.computes_first
        # A run that is stopped meanwhile draws the same numbers again.
        with random_state_of_whole():
            yield

    def answer_log_probabilities(
        self, rows: list[list[int]], prompts: list[int], answered: Tensor, most: int | None, figures: bool
    ) -> tuple[Tensor, Tensor | None]:
        if figures and self._known is not None:
            found = self._look_up(rows)
            self._known = None
        else:
            first, self._is_policy = self._is_policy, False
            # What the policy says of its answers is what the loss is made of, unless it is updated or divided
            # before.
            keep = first and not figures and self._once()
            found = self._compute(rows, prompts, most or len(rows), figures or keep, keep)
            if keep:
                self._known = ({tuple(row): at for at, row in enumerate(rows)}, *found)
                found = [each.detach() for each in found[0]], None
        of_tokens, entropies = found
        return _padded(of_tokens, answered), None if entropies is None else _padded(entropies, answered)

    def _once(self) -> bool:
        """Whether the answers of one pass are all that an update takes."""
        if not self.model.training:
            return True
        args = self.args
        return args.steps_per_generation == self.num_iterations == 1 and not args.gradient_checkpointing

    def _compute(
        self, rows: list[list[int]], prompts: list[int], size: int, figures: bool, learns: bool
    ) -> tuple[list[Tensor], list[Tensor] | None]:
        """The log-probabilities and entropies of the answers in `rows`, `size` of them at a time; with
        `learns` they have gradients, in training."""
        inner = without_adapter(self.accelerator.unwrap_model(self.model))
        found, entropies = [torch.empty(0)] * len(rows), [torch.empty(0)] * len(rows)
        # Those with a common beginning in one part.
        order = sorted(range(len(rows)), key=rows.__getitem__)
        gradients = torch.is_grad_enabled() or (learns and self.model.training)
        with torch.set_grad_enabled(gradients), training_precision(self.args):
            for start in range(0, len(order), size):
                part = order[start : start + size]
                given = [rows[at] for at in part], [prompts[at] for at in part]
                allowed = self._allowed(*given)
                each, figures_of_part = token_log_probabilities(inner, *given, figures, allowed)
                counts = [len(row) - prompt for row, prompt in zip(*given, strict=True)]
                for at, values in zip(part, each.split(counts), strict=True):
                    found[at] = values
                if figures_of_part is not None:
                    for at, values in zip(part, figures_of_part[0].split(counts), strict=True):
                        entropies[at] = values
        return found, entropies if figures else None

    def _allowed(self, rows: list[list[int]], prompts: list[int]) -> Tensor | None:
        """The tokens among which each of an answer was chosen, where not all of them were."""
        if self.answer_format is None:
            return None
        return self.answer_format.allowed(
            [row[prompt:] for row, prompt in zip(rows, prompts, strict=True)]
        ).to(self.model.device)

    def _look_up(self, rows: list[list[int]]) -> tuple[list[Tensor], list[Tensor] | None]:
        """What is known of `rows`, which the library has shuffled."""
        assert self._known is not None
        known, found, entropies = self._known
        assert entropies is not None
        indices = [known[tuple(row)] for row in rows]
        return [found[at] for at in indices], [entropies[at] for at in indices]


class GroupPolicy(GroupSteps, Policy):
    """The same for TRL's GRPO trainer, which computes the answers again only where it trains on them."""

    computes_first = False


def _padded(rows: list[Tensor], where: Tensor) -> Tensor:
    """`rows` of values where `where` (rows, width), and 0 elsewhere."""
    values = torch.cat(rows)
    return values.new_zeros(where.shape).masked_scatter(where, values)
