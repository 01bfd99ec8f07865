"""From messages to token ids and labels: the one place where it is done, for training and for previews."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainer.template import Template, split

# The label that carries no loss, as torch's cross entropy has it.
IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """One row: `input_ids` and `labels` of equal length; `labels` is IGNORED over the prompt."""

    input_ids: list[int]
    labels: list[int]
    prompt_tokens: int
    total_tokens: int

    @property
    def truncated(self) -> bool:
        """Whether tokens had to be cut off."""
        return len(self.input_ids) < self.total_tokens

    @property
    def labelled(self) -> bool:
        """Whether any token carries loss."""
        return self.prompt_tokens < len(self.input_ids)


def encode(
    tokenizer: Any, template: Template, conversations: list[list[dict[str, str]]], max_length: int | None
) -> list[Encoded]:
    """Each conversation as tokens, at most `max_length` of them (the end is cut off).

    Prompt and completion are tokenized apart and joined, so that the prompt's ids are those of the prompt
    alone, which is all that the playground has.
    """
    texts = [split(template, messages) for messages in conversations]
    prompts = tokenizer([prompt for prompt, _ in texts], add_special_tokens=False).input_ids
    completions = tokenizer([completion for _, completion in texts], add_special_tokens=False).input_ids
    return [
        join(prompt, completion, max_length) for prompt, completion in zip(prompts, completions, strict=True)
    ]


def join(prompt: list[int], completion: list[int], max_length: int | None) -> Encoded:
    """One row from the ids of its prompt and of its completion."""
    ids = [*prompt, *completion][:max_length]
    labels = [IGNORED] * min(len(prompt), len(ids)) + ids[len(prompt) :]
    return Encoded(ids, labels, min(len(prompt), len(ids)), len(prompt) + len(completion))
