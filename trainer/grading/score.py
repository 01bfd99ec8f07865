"""What graders are given and what comes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

# A grader as JSON; the service has validated it (src/contract/graders).
Grader = Mapping[str, Any]
# A row of a dataset with all its columns.
Item = Mapping[str, Any]


def figure(name: str) -> str:
    """The name of the figure of a grader (`src/contract/graders/grader-types.ts`)."""
    return f"grader:{name}"


class GraderError(Exception):
    """A grader that cannot score a row: a column that is not there, a formula that divides by zero. `kind` is
    what goes wrong, by the name of its flag in OpenAI's API."""

    kind: str | None = None


class Unfit(Exception):
    """An answer that lacks what the grader looks at, such as JSON. Its score is 0, and that is no error."""


@dataclass(frozen=True)
class Sample:
    """An answer of a model; `output_tools` are its calls in the format of OpenAI's chat completions."""

    output_text: str
    output_tools: list[dict[str, Any]] = field(default_factory=list)

    @cached_property
    def output_json(self) -> Any:
        """The answer as JSON. Unfit if it is none."""
        try:
            return json.loads(self.output_text)
        except (ValueError, RecursionError) as error:
            raise Unfit(f"the answer is no JSON: {error}") from error

    def namespace(self) -> dict[str, Any]:
        """The sample as the function of a `python` grader gets it; `output_json` is None if there is none."""
        try:
            parsed = self.output_json
        except Unfit:
            parsed = None
        message = {"role": "assistant", "content": self.output_text, "tool_calls": self.output_tools or None}
        return {
            "output_text": self.output_text,
            "output_json": parsed,
            "output_tools": self.output_tools,
            "choices": [{"index": 0, "message": message}],
        }


@dataclass(frozen=True)
class Score:
    """`value` is 0 where there is an `error`. `parts` are the scores that a `multi` grader is made of, and
    `kinds` what went wrong, in it and its parts, by the names of OpenAI's flags; also that the answer is
    unfit."""

    value: float
    parts: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    explanation: str = ""
    kinds: list[str] = field(default_factory=list)
