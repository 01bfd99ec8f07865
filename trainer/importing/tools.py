"""Tools of other formats as those of OpenAI: what a row offers, calls, and what tools said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from trainer.importing.faults import BadRow

# OpenAI's older name stands behind its new one.
OFFERED = ("tools", "functions")
# ShareGPT's turns that are calls, and those that are results; OpenAI's older role is `function`.
CALL_ROLES = {"function_call", "tool_call", "tool_calls"}
RESULT_ROLES = {"tool", "function", "observation", "ipython", "tool_response"}
# How Hermes and others write calls and results into texts.
_CALLS = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
_RESULT = re.compile(r"\s*<tool_response>\s*(.*?)\s*</tool_response>\s*", re.DOTALL)

Call = dict[str, Any]


def offered(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row for its tools, in OpenAI's format; none without tools.

    @raises BadRow for a list that cannot be read.
    """
    name = next((name for name in OFFERED if row.get(name) not in (None, "", "[]", [])), None)
    if name is None:
        return {}
    tools = _json(row[name])
    if not isinstance(tools, list):
        raise BadRow(f'"{name}" must be a list of tools, or JSON text of one', name)
    made = [_tool(tool, number, name) for number, tool in enumerate(tools, 1)]
    parallel = row.get("parallel_tool_calls")
    return {"tools": made, **({} if parallel is None else {"parallel_tool_calls": parallel})}


def _tool(tool: object, number: int, column: str) -> dict[str, Any]:
    tool = _without_none(_json(tool))
    if isinstance(tool, dict) and not isinstance(tool.get("function"), dict):
        tool = {"type": "function", "function": tool}
    if not isinstance(tool, dict) or not isinstance(tool["function"].get("name"), str):
        raise BadRow(f'tool {number} of "{column}" has no name', column)
    parameters = tool["function"].get("parameters")
    if isinstance(parameters, str):
        tool["function"]["parameters"] = _json(parameters)
    return {"type": "function", **tool}


def _without_none(value: Any) -> Any:
    """`value` without fields of None: a table gives each object the fields of all."""
    if isinstance(value, list):
        return [_without_none(one) for one in value]
    if isinstance(value, dict):
        return {name: _without_none(one) for name, one in value.items() if one is not None}
    return value


def _json(value: object) -> Any:
    """What JSON text says; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


class Calls:
    """The calls of a conversation, each with an ID, and those that no result has answered."""

    def __init__(self) -> None:
        self._open: list[Call] = []
        self._count = 0

    def made(self, given: object) -> list[Call]:
        """One call, or several. @raises BadRow without the name of the message."""
        given = _json(given)
        calls = [self._call(_json(one)) for one in (given if isinstance(given, list) else [given])]
        self._open = list(calls)
        return calls

    def _call(self, given: object) -> Call:
        called = given.get("function", given) if isinstance(given, dict) else None
        if (
            not isinstance(given, dict)
            or not isinstance(called, dict)
            or not isinstance(called.get("name"), str)
        ):
            raise BadRow("has a call without the name of its function")
        arguments = called.get("arguments", called.get("parameters"))
        if not isinstance(arguments, str):
            arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
        if not isinstance(_json(arguments or "{}"), dict):
            raise BadRow(f"calls {called['name'][:60]} with arguments that are no JSON object")
        self._count += 1
        return {
            "id": given.get("id") or f"call_{self._count}",
            "type": "function",
            "function": {"name": called["name"], "arguments": arguments},
        }

    def in_text(self, content: str) -> tuple[str, list[Call]]:
        """A text without the calls in it, and these; the text as it is where one of them cannot be read."""
        found = _CALLS.findall(content)
        if not found or not all(isinstance(_json(one), dict) for one in found):
            return content, []
        return _CALLS.sub("", content).strip(), self.made([_json(one) for one in found])

    def answered(self, turn: Mapping[str, Any]) -> str:
        """The ID of the call that a result answers: by its own ID, the function's name, or the order.

        @raises BadRow without the name of the message.
        """
        identifier, name = turn.get("tool_call_id"), turn.get("name")
        for call in self._open:
            if call["id"] == identifier if identifier else name in (None, "", call["function"]["name"]):
                self._open.remove(call)
                return str(call["id"])
        raise BadRow("is the result of a tool that no earlier message calls")


def result_of(value: object) -> str:
    """What a tool said, as text."""
    if not isinstance(value, str):
        return "" if value is None else json.dumps(value, ensure_ascii=False)
    wrapped = _RESULT.fullmatch(value)
    return wrapped[1] if wrapped else value
