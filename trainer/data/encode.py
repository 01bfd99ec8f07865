"""Turns messages into token ids and labels, for training and for previews."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainer.data.template import Template, split

# The label without a loss, the default of torch's cross entropy.
IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """One row: `input_ids` and `labels` of equal length; the labels of the prompt are IGNORED."""

    input_ids: list[int]
    labels: list[int]
    prompt_tokens: int
    total_tokens: int

    @property
    def truncated(self) -> bool:
        """Whether tokens were cut off."""
        return len(self.input_ids) < self.total_tokens

    @property
    def labelled(self) -> bool:
        """Whether any token has a label."""
        return self.prompt_tokens < len(self.input_ids)


def encode(
    tokenizer: Any, template: Template, conversations: list[list[dict[str, str]]], max_length: int | None
) -> list[Encoded]:
    """Each conversation as tokens, truncated to `max_length`.

    Prompt and completion are tokenized separately, so that the prompt has the ids that the playground gives
    it.
    """
    texts = [split(template, messages) for messages in conversations]
    prompts = tokenizer([prompt for prompt, _ in texts], add_special_tokens=False).input_ids
    completions = tokenizer([completion for _, completion in texts], add_special_tokens=False).input_ids
    return [
        join(prompt, completion, max_length) for prompt, completion in zip(prompts, completions, strict=True)
    ]


def join(prompt: list[int], completion: list[int], max_length: int | None) -> Encoded:
    """One row from the token ids of its prompt and its completion."""
    ids = [*prompt, *completion][:max_length]
    labels = [IGNORED] * min(len(prompt), len(ids)) + ids[len(prompt) :]
    return Encoded(ids, labels, min(len(prompt), len(ids)), len(prompt) + len(completion))
