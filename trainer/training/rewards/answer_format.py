"""Answers that are JSON of a schema: which tokens may stand where, in sampling and in the loss alike.

A token is sampled among those that the schema allows there. Its log-probability is one among the same tokens,
by the policy and by the base model: what is trained is the distribution that is sampled.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from trainer.kernels.loss import unpacked
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from llguidance import LLMatcher
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.data.job import Job
    from trainer.padding_free.continuing import Sampler

# As inference has it (src/inference/schema): bounded, so that an answer comes to its end.
WHITE_SPACE = r"( |\n {0,16})?"


class AnswerFormat:
    """The answers that `response_format` of a job allows."""

    @classmethod
    def of(cls, job: Job, model: PreTrainedModel, why_padded: str | None) -> AnswerFormat | None:
        """That of a job, if it has one. Failure `unsupported` where answers cannot be held to it."""
        form: Any = job.settings.response_format
        if form is None:
            return None
        if why_padded is not None:
            raise _refused(f"this model computes with padding ({why_padded})")
        return cls(job, model, form["json_schema"]["schema"])

    def __init__(self, job: Job, model: PreTrainedModel, schema: object) -> None:
        from llguidance import LLMatcher
        from llguidance.hf import from_tokenizer

        self._ends = [job.tokenizer.convert_tokens_to_ids(stop) for stop in job.template.stop]
        self._width = model.get_output_embeddings().weight.shape[0]
        try:
            tokenizer = from_tokenizer(job.tokenizer, n_vocab=self._width, eos_token=self._ends[0])
        except ValueError as error:
            raise _refused(f"this tokenizer cannot be read ({error})") from None
        grammar = LLMatcher.grammar_from_json_schema(
            json.dumps(schema), overrides={"whitespace_pattern": WHITE_SPACE}
        )
        wrong, faults = LLMatcher.validate_grammar_with_warnings(grammar, tokenizer)
        if wrong:
            raise _refused(f"of its schema: {faults[0]}")
        self._begun = LLMatcher(tokenizer, grammar)

    def allowed(self, answers: list[list[int]]) -> Tensor:
        """Among which tokens those of `answers` were chosen, one after the other, as bits (tokens, words)."""
        import torch

        parts = []
        for answer in answers:
            matcher, bits = self._begun.deep_copy(), self._bits(len(answer))
            for at, token in enumerate(answer):
                self._fill(matcher, bits[at])
                self._go_on(matcher, token)
            parts.append(bits)
        return torch.cat(parts)

    def sampler(self, inner: Sampler, count: int) -> Sampler:
        """Chooses as `inner` does for `count` rows, among the tokens that are allowed."""
        matchers = [self._begun.deep_copy() for _ in range(count)]

        def chosen(logits: Tensor, rows: list[int]) -> Tensor:
            bits = self._bits(len(rows))
            for index, row in enumerate(rows):
                self._fill(matchers[row], bits[index])
            allowed = unpacked(bits.to(logits.device), logits.shape[1])
            tokens = inner(logits.masked_fill(~allowed, -float("inf")), rows)
            for row, token in zip(rows, tokens.tolist(), strict=True):
                self._go_on(matchers[row], token)
            return tokens

        return chosen

    def _bits(self, rows: int) -> Tensor:
        import torch

        return torch.zeros(rows, (self._width + 31) // 32, dtype=torch.int32)

    def _fill(self, matcher: LLMatcher, bits: Tensor) -> None:
        """Sets the bits of the tokens that may be next."""
        matcher.unsafe_compute_mask_ptr(bits.data_ptr(), bits.numel() * bits.element_size())
        if matcher.is_accepting():
            # It knows one end.
            for end in self._ends[1:]:
                bits[end // 32] |= (1 << end % 32) - (1 << 32 if end % 32 == 31 else 0)

    def _go_on(self, matcher: LLMatcher, token: int) -> None:
        if token not in self._ends and not matcher.consume_token(token):
            raise RuntimeError(f"token {token} is not allowed: {matcher.get_error()}")


def _refused(why: str) -> Failure:
    return Failure(
        "unsupported",
        f"Answers cannot be held to response_format, because {why}.",
        "Leave it out, and reward answers in the format with a grader of the type hone_json_schema.",
    )
