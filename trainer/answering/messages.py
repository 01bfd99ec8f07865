"""The messages between the service and a trainer that answers, as src/inference/protocol has them."""

from __future__ import annotations

from typing import TypedDict


class LoadOrder(TypedDict):
    """The message `load`."""

    base: dict[str, object]
    task: str
    strategy: str
    settings: dict[str, object]
    scratch: str
    templatePath: str


class AdapterOrder(TypedDict):
    """An adapter that a request names."""

    path: str
    scale: float


class Input(TypedDict, total=False):
    """What a request asks: a `text`, or `messages`."""

    kind: str
    text: str
    messages: list[dict[str, str]]
    thinking: bool | None
    continues: bool


class GenerateOrder(TypedDict):
    """The message `generate`."""

    id: int
    input: Input
    adapters: list[AdapterOrder]
    maxTokens: int
    temperature: float
    topP: float
    seed: int | None
    stop: list[str]


class Stopped(TypedDict, total=False):
    """The text of the request's `stop` that ended the answer."""

    stoppedAt: str


class Answered(Stopped):
    """The `result` of `done`."""

    text: str
    promptTokens: int
    cachedTokens: int
    generatedTokens: int
    finishReason: str
    timeToFirstTokenMs: float
    durationMs: float
