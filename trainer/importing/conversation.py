"""Conversations of other formats as messages of the roles system, user, assistant and tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from trainer.importing.faults import BadRow
from trainer.importing.tools import CALL_ROLES, RESULT_ROLES, Calls, result_of

# ShareGPT and its successors have names of their own for the roles; OpenAI renamed the system to developer.
ROLES = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "gpt", "chatgpt", "bot", "model", "bing", "bard"), "assistant"),
}

# Where others keep the reasoning of an answer: DeepSeek's and vLLM's API, OpenRouter's, gpt-oss.
REASONING = ("reasoning_content", "reasoning", "thinking")

Message = dict[str, Any]


def messages_of(
    value: object, column: str, learned: bool = True, calls: Calls | None = None
) -> list[Message]:
    """The messages of a conversation, a list or JSON text of one.

    @param learned whether one of them must be an assistant's with a weight of 1.
    @param calls those of the messages before.
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
    calls = calls or Calls()
    messages = [_message(turn, number, column, calls) for number, turn in enumerate(value, 1)]
    if learned and not any(turn["role"] == "assistant" and turn.get("weight", 1) for turn in messages):
        raise BadRow(f'column "{column}" has no assistant message to learn from', column)
    return messages


def _message(turn: object, number: int, column: str, calls: Calls) -> Message:
    def bad(what: str) -> BadRow:
        return BadRow(f"message {number} {what}", column)

    if not isinstance(turn, dict):
        raise bad("must be an object with role and content")
    said = turn.get("role", turn.get("from"))
    name = said.strip().lower() if isinstance(said, str) else ""
    content = turn.get("content", turn.get("value"))
    try:
        if name in RESULT_ROLES:
            return {"role": "tool", "tool_call_id": calls.answered(turn), "content": _result(content, bad)}
        called = content if name in CALL_ROLES else turn.get("tool_calls") or turn.get("function_call")
        made = calls.made(called) if called else []
    except BadRow as fault:
        raise bad(fault.message) from None
    if name in CALL_ROLES:
        name, content = "assistant", ""
    role = ROLES.get(name)
    if role is None:
        raise bad(f"has the role {said!r:.60}; known are {', '.join([*ROLES, *RESULT_ROLES, *CALL_ROLES])}")
    if made and role != "assistant":
        raise bad("calls tools, and is not of the assistant")
    reasoning = next((turn[name] for name in REASONING if turn.get(name)), "")
    if isinstance(content, list):
        thoughts = [part.get("thinking") for part in content if _is_thinking(part)]
        reasoning = reasoning or "\n\n".join(thought for thought in thoughts if isinstance(thought, str))
        content = "".join(_text_of(part, bad) for part in content if not _is_thinking(part))
    if made and content is None:
        content = ""
    if not isinstance(content, str):
        raise bad("has no text as its content")
    if role == "assistant" and not made:
        try:
            content, made = calls.in_text(content)
        except BadRow as fault:
            raise bad(fault.message) from None
    message: Message = {"role": role, "content": content, **({"tool_calls": made} if made else {})}
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


def _result(content: object, bad: Callable[[str], BadRow]) -> str:
    if (
        isinstance(content, list)
        and content
        and all(isinstance(part, dict) and "text" in part for part in content)
    ):
        return "".join(_text_of(part, bad) for part in content)
    return result_of(content)


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
