"""The rows of a dataset, as the service has checked them. A row has the fields of its shape (ROW_SHAPES)."""

from __future__ import annotations

from typing import TypedDict


class Function(TypedDict):
    """What a call calls; the arguments are JSON, as an object or its text."""

    name: str
    arguments: str


class Tool(TypedDict):
    """What a conversation offers: a `function` with its name, description and parameters."""

    type: str
    function: dict[str, object]


class Call(TypedDict):
    """A call of a tool, which a message of the role `tool` answers by its `id`."""

    id: str
    type: str
    function: Function


class _Said(TypedDict):
    role: str
    content: str


class Message(_Said, total=False):
    """A message of a conversation; an answer with the `weight` 0 is not learned."""

    reasoning_content: str | None
    weight: float
    tool_calls: list[Call]
    # Of a message of the role `tool`.
    tool_call_id: str
    name: str
    # Those of the row, in the first message of a conversation (`trainer/data/tools.py`).
    tools: list[dict[str, object]]


class Row(TypedDict, total=False):
    """A row of any shape."""

    input: str
    output: str
    context: str
    question: str
    answer: str
    prompt: str | list[Message]
    chosen: str | list[Message]
    rejected: str | list[Message]
    completion: str | list[Message]
    label: bool
    messages: list[Message]
    tools: list[Tool]
    text: str
