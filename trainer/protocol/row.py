"""The rows of a dataset, as the service has checked them. A row has the fields of its shape (ROW_SHAPES)."""

from __future__ import annotations

from typing import TypedDict


class _Said(TypedDict):
    role: str
    content: str


class Message(_Said, total=False):
    """A message of a conversation; an answer with the `weight` 0 is not learned."""

    reasoning_content: str | None
    weight: float


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
    messages: list[Message]
    text: str
