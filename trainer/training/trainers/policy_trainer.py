"""The library's RLOO trainer without padding: each prompt is computed once for all of its answers.

Imports trl; import it inside functions.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import torch

from trainer.data.job import Job
from trainer.padding_free.answers import token_log_probabilities
from trainer.padding_free.continuing import Draws, continue_prompts
from trainer.padding_free.trial import autocast

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


def policy_trainer(base: type, job: Job) -> type:
    """A subclass of `base`, the library's RLOO trainer, with the same answers for the same random numbers and
    the same loss."""

    class PolicyTrainer(base):
        """Logs what the library's trainer does."""

        # Of the last answers: by row its place in what follows, their log-probabilities and entropies.
        _known: tuple[dict[tuple[int, ...], int], list[Tensor], list[Tensor] | None] | None = None
        # Whether the next pass is the one of the policy before its update.
        _is_policy = False

        def _generate_single_turn(self, prompt_ids: list[list[int]], *others: object) -> list[list[int]]:
            groups = [(prompt, len(list(same))) for prompt, same in groupby(prompt_ids)]
            prompts = [prompt for prompt, _ in groups]
            return continue_prompts(
                self.accelerator.unwrap_model(self.model),
                prompts,
                copies=[number for _, number in groups],
                most=[self.max_completion_length] * len(prompts),
                ends=self.eos_token_ids,
                choose=Draws(len(prompt_ids)),
                step=job.beat_or_stop,
            )

        def _generate_and_score_completions(self, inputs: list[dict[str, object]]) -> dict[str, Tensor]:
            self._known, self._is_policy = None, True
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
            if compute_entropy and self._known is not None:
                found = self._look_up(rows)
                self._known = None
            else:
                first, self._is_policy = self._is_policy, False
                # What the policy says of its answers is what the loss is made of, unless it is updated or
                # divided before.
                keep = first and not compute_entropy and self._once()
                found = self._compute(rows, prompts, batch_size or len(rows), compute_entropy or keep, keep)
                if keep:
                    self._known = ({tuple(row): at for at, row in enumerate(rows)}, *found)
                    found = [each.detach() for each in found[0]], None
            of_tokens, entropies = found
            told = None if entropies is None else _padded(entropies, answered)
            return _padded(of_tokens, answered), told, None

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
            args, inner = self.args, self.accelerator.unwrap_model(self.model).get_base_model()
            half = "bfloat16" if args.bf16 else "float16" if args.fp16 else None
            found, entropies = [torch.empty(0)] * len(rows), [torch.empty(0)] * len(rows)
            # Those with a common beginning in one part.
            order = sorted(range(len(rows)), key=rows.__getitem__)
            gradients = torch.is_grad_enabled() or (learns and self.model.training)
            with torch.set_grad_enabled(gradients), autocast(args.device.type, half):
                for start in range(0, len(order), size):
                    part = order[start : start + size]
                    given = [rows[at] for at in part], [prompts[at] for at in part]
                    each, told = token_log_probabilities(inner, *given, figures)
                    counts = [len(row) - prompt for row, prompt in zip(*given, strict=True)]
                    for at, values in zip(part, each.split(counts), strict=True):
                        found[at] = values
                    if told is not None:
                        for at, values in zip(part, told[0].split(counts), strict=True):
                            entropies[at] = values
            return found, entropies if figures else None

        def _look_up(self, rows: list[list[int]]) -> tuple[list[Tensor], list[Tensor] | None]:
            """What is known of `rows`, which the library has shuffled."""
            assert self._known is not None
            known, found, entropies = self._known
            assert entropies is not None
            places = [known[tuple(row)] for row in rows]
            return [found[at] for at in places], [entropies[at] for at in places]

    return PolicyTrainer


def _padded(rows: list[Tensor], where: Tensor) -> Tensor:
    """`rows` of values in the places `where` (rows, width), and 0 elsewhere."""
    values = torch.cat(rows)
    return values.new_zeros(where.shape).masked_scatter(where, values)
