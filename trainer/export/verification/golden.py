"""The answers of a finished GGUF to the prompts whose answers were shown during training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

    def show(self, job: JobContext, quantization: str, answers: list[list[int]]) -> None:
        """Writes the file's answers to the journal."""
        stops = [self.tokenizer.convert_tokens_to_ids(stop) for stop in self.template.stop]
        for row, tokens in zip(self.prompts, answers, strict=True):
            job.journal.write(
                "sample",
                step=self.step,
                prompt=row["prompt"],
                text=answer_text(self.tokenizer, tokens, stops),
                reference=row["reference"],
                file=quantization,
            )
