"""The answers of a finished GGUF to the prompts whose answers were shown during training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainer.data import thinking
from trainer.data.template import Template
from trainer.protocol.context import JobContext
from trainer.training.generate import answer_text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Golden:
    """What a GGUF is asked when it is verified: `prompts` are those of `PromptAnswers.for_export`."""

    prompts: list[dict[str, Any]]
    step: int
    template: Template
    tokenizer: PreTrainedTokenizerBase

    def continuations(self) -> list[dict[str, object]]:
        """The prompts for the scoring program."""
        return [{"tokens": row["tokens"], "maxTokens": row["max_tokens"]} for row in self.prompts]

    def goes_on(self) -> list[int]:
        """The tokens that end the reasoning of an answer in channels, and not the answer."""
        described = self.template.thinking
        if described is None or not described.get("final"):
            return []
        return [self.tokenizer.convert_tokens_to_ids(described["close"])]

    def show(self, job: JobContext, quantization: str, answers: list[list[int]]) -> None:
        """Writes the file's answers to the journal."""
        decode = thinking.decoder(self.tokenizer, self.template.thinking)
        stops = [self.tokenizer.convert_tokens_to_ids(stop) for stop in self.template.stop]
        for row, tokens in zip(self.prompts, answers, strict=True):
            job.journal.write(
                "sample",
                step=self.step,
                prompt=row["prompt"],
                text=answer_text(decode, tokens, stops),
                reference=row["reference"],
                file=quantization,
                scores=None,
            )
