"""Rows of prompts and of preferences: a prompt (a text, or a conversation up to the user's last message or
results of tools), of a preference with a chosen and a rejected answer, of an unpaired one with a completion
and its label. Each answer is a text or a list of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from trainer.data import conversations, tools
from trainer.data.template import Template
from trainer.data.tools import Given

if TYPE_CHECKING:
    from trainer.protocol.row import Message, Row


Answer = Literal["chosen", "rejected", "completion"]
# The answers of each shape that has some, the one that is shown first.
ANSWERS: dict[str, tuple[Answer, ...]] = {
    "preference": ("chosen", "rejected"),
    "unpaired-preference": ("completion",),
}


def conversation(row: Row, answer: Answer = "chosen") -> list[Message]:
    """The prompt with an answer, an empty one where the row has none; earlier answers
    have the weight 0."""
    prompt, given = row["prompt"], row.get(answer, "")
    turns: list[Message] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    said: Message = {"role": "assistant", "content": given} if isinstance(given, str) else given[0]
    answered: Message = {"role": "assistant", "content": said["content"]}
    if said.get("tool_calls"):
        answered["tool_calls"] = said["tool_calls"]
    if said.get("reasoning_content") is not None:
        answered["reasoning_content"] = said["reasoning_content"]
    earlier: list[Message] = [
        {**turn, "weight": 0} if turn["role"] == "assistant" else turn for turn in turns
    ]
    return tools.conversation(row, [*earlier, answered])


def messages(template: Template | None, row: Row, answer: Answer = "chosen") -> list[Given]:
    """The conversation as `template` gets it."""
    return conversations.to_last_answer(template, conversation(row, answer))


def fault(field: str, value: object) -> str | None:
    """Why `value` cannot be the `field` of a preference, or None; the service tells more
    (`src/domain/datasets/rows/preference-rules.ts`)."""
    if isinstance(value, str):
        return None
    if not isinstance(value, list):
        return "must be a string or a list of messages"
    wrong = conversations.message_fault(value)
    if wrong is not None:
        return wrong
    roles = [message["role"] for message in value]
    if field == "prompt":
        ends = roles[-1] in ("user", "tool")
        return None if ends else "must end with a message of the user or a result of a tool"
    return None if roles == ["assistant"] else "must have one message, of the assistant"
