"""Conversations of rows (`messages`): what of them is learned, and the prompt before each learned answer."""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, cast

from trainer.data.template import Template, split
from trainer.data.thinking import plain
from trainer.data.tools import Given, require_written

if TYPE_CHECKING:
    from trainer.protocol.row import Message

ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class Turn:
    """A learned answer: the text that the playground sends for it, and the answer with its end-of-turn
    token."""

    prompt: str
    completion: str

    @property
    def whole(self) -> str:
        """The prompt with its answer."""
        return self.prompt + self.completion


def fault(value: object) -> str | None:
    """Why `value` is no conversation that can be trained, or None; the service tells more
    (`src/domain/datasets/rows/conversation-rules.ts`)."""
    wrong = message_fault(value)
    if wrong is not None:
        return wrong
    return None if learned_turns(cast("list[Message]", value)) else "has no message of the assistant to learn"


def message_fault(value: object) -> str | None:
    """Why `value` is no list of messages, or None."""
    if not isinstance(value, list) or not value:
        return "must be a list of messages"
    for message in value:
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            return f"has a message whose role is none of {', '.join(ROLES)}"
        if not isinstance(message.get("content"), str) and not message.get("tool_calls"):
            return "has a message whose content is not a string"
        if not isinstance(message.get("reasoning_content", ""), (str, NoneType)):
            return "has a message whose reasoning_content is not a string"
    return None


def learned_turns(messages: list[Message]) -> list[int]:
    """The indices of the answers to learn: the assistant's messages without the weight 0."""
    return [
        at
        for at, message in enumerate(messages)
        if message["role"] == "assistant" and message.get("weight") != 0
    ]


def to_last_answer(template: Template | None, messages: list[Message]) -> list[Given]:
    """The conversation up to its last learned answer, as role and content, with tools and their calls, and
    the reasoning of answers where `template` is to learn it."""
    thinking = template.thinking if template else None
    return [plain(thinking, message) for message in messages[: learned_turns(messages)[-1] + 1]]


def turns(template: Template, messages: list[Message]) -> list[Turn]:
    """Every learned answer of a conversation, in order. Failure `bad_tokenizer` when the template does not
    accept the conversation."""
    given = to_last_answer(template, messages)
    found = []
    for at in learned_turns(messages):
        turn = Turn(*split(template, given[: at + 1]))
        require_written(given[at], turn.completion)
        found.append(turn)
    return found
