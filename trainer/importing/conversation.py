"""Conversations of other formats as messages of the roles system, user and assistant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from trainer.importing.faults import BadRow

# ShareGPT and its successors have names of their own for the roles; OpenAI renamed the system to developer.
ROLES = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "gpt", "chatgpt", "bot", "model", "bing", "bard"), "assistant"),
}
TOOL_ROLES = {"tool", "function", "function_call", "observation", "ipython", "tool_call", "tool_response"}
NO_TOOLS = "tool calls are not supported yet; remove the row"

# Where others keep the reasoning of an answer: DeepSeek's and vLLM's API, OpenRouter's, gpt-oss.
REASONING = ("reasoning_content", "reasoning", "thinking")

Message = dict[str, Any]


def refuse_tools(row: Mapping[str, object]) -> None:
    """@raises BadRow for a row whose answers depend on tools."""
    for name in ("tools", "functions"):
        # An empty list, in JSON or as the text that a table has.
        if row.get(name) not in (None, "", "[]", []):
            raise BadRow(f'"{name}": {NO_TOOLS}', name)


def messages_of(value: object, column: str, learned: bool = True) -> list[Message]:
    """The messages of a conversation, a list or JSON text of one.

    @param learned whether one of them must be an assistant's with a weight of 1.
    @raises BadRow with the number of the message.
    """
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            raise BadRow(
                f'column "{column}" holds text that is not a JSON list of messages', column
            ) from None
    if not isinstance(value, list) or not value:
        raise BadRow(f'column "{column}" must hold a list of messages', column)
    messages = [_message(turn, number, column) for number, turn in enumerate(value, 1)]
    if learned and not any(turn["role"] == "assistant" and turn.get("weight", 1) for turn in messages):
        raise BadRow(f'column "{column}" has no assistant message to learn from', column)
    return messages


def _message(turn: object, number: int, column: str) -> Message:
    def bad(what: str) -> BadRow:
        return BadRow(f"message {number} {what}", column)

    if not isinstance(turn, dict):
        raise bad("must be an object with role and content")
    for name in ("tool_calls", "function_call"):
        if turn.get(name):
            raise bad(f'has "{name}": {NO_TOOLS}')
    said = turn.get("role", turn.get("from"))
    role = ROLES.get(said.strip().lower()) if isinstance(said, str) else None
    if role is None:
        if said in TOOL_ROLES:
            raise bad(f'has the role "{said}": {NO_TOOLS}')
        raise bad(f"has the role {said!r:.60}; known are {', '.join(ROLES)}")
    content = turn.get("content", turn.get("value"))
    reasoning = next((turn[name] for name in REASONING if turn.get(name)), "")
    if isinstance(content, list):
        thoughts = [part.get("thinking") for part in content if _is_thinking(part)]
        reasoning = reasoning or "\n\n".join(thought for thought in thoughts if isinstance(thought, str))
        content = "".join(_text_of(part, bad) for part in content if not _is_thinking(part))
    if not isinstance(content, str):
        raise bad("has no text as its content")
    message: Message = {"role": role, "content": content}
    if reasoning and role == "assistant":
        if not isinstance(reasoning, str):
            raise bad("has reasoning that is no text")
        message["reasoning_content"] = reasoning
    weight = turn.get("weight")
    if weight is not None and role == "assistant":
        if weight not in (0, 1):
            raise bad(f"has the weight {weight!r:.40}; it must be 0 or 1")
        message["weight"] = int(weight)
    return message


def _is_thinking(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "thinking"


def _text_of(part: object, bad: Callable[[str], BadRow]) -> str:
    if isinstance(part, dict):
        kind = part.get("type", "text")
        if kind != "text":
            raise bad(f"has a part of the type {kind!r:.60}; only text is supported")
        part = part.get("text")
    if not isinstance(part, str):
        raise bad("has a part that is no text")
    return part
