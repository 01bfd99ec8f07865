"""Models as judges: `score_model`, `label_model`, and pairs of answers."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from trainer.grading.judge_server import JudgeError, Server, refusal, request, server_of
from trainer.grading.score import Grader, Item, Sample, Score
from trainer.grading.template import fill

# Seconds before the second attempt and the following, unless the server says how long.
WAITS = [1.0, 4.0, 16.0]
LONGEST_WAIT = 60.0
# What may pass, beside the failures of a server.
PASSING = (408, 409, 425, 429)

Labels = tuple[str, ...]
Range = tuple[float, float]
Better = Literal["first", "second", "tie"]


class Verdict(NamedTuple):
    """What a judge answers."""

    result: float | str
    reasoning: str


_usage: dict[str, Counter[str]] = {}
_counting = threading.Lock()


def usage() -> dict[str, dict[str, int]]:
    """What each judge took in this process, by model: `requests`, `prompt_tokens`, `completion_tokens`."""
    with _counting:
        return {model: dict(taken) for model, taken in _usage.items()}


def score_model(grader: Grader, item: Item, sample: Sample) -> Score:
    """The number that a model gives an answer, within the grader's range."""
    low, high = grader.get("range") or (0.0, 1.0)
    verdict = _judge(grader, _messages(grader, item, sample), (float(low), float(high)))
    return Score(float(verdict.result), explanation=verdict.reasoning)


def label_model(grader: Grader, item: Item, sample: Sample) -> Score:
    """1 if the label that a model gives an answer is one that passes."""
    verdict = _judge(grader, _messages(grader, item, sample), tuple(grader["labels"]))
    told = f"{verdict.result}: {verdict.reasoning}"
    return Score(float(verdict.result in grader["passing_labels"]), explanation=told)


@dataclass(frozen=True)
class Preference:
    """Which of two answers is better: a tie, not `consistent`, where the judge's choice changes with their
    order."""

    better: Better
    consistent: bool
    explanation: str


IN_ORDER: dict[float | str, Better] = {"A": "first", "B": "second", "tie": "tie"}
SWAPPED: dict[float | str, Better] = {"A": "second", "B": "first", "tie": "tie"}
PAIR = """Two assistants answered the same request. Decide which answer is better{criteria}. The order of \
the answers and their length mean nothing. Result: A, B, or tie if neither is better.

<request>
{request}
</request>

<answer_A>
{first}
</answer_A>

<answer_B>
{second}
</answer_B>"""


def pairwise(judge: Grader, request: str, first: str, second: str) -> Preference:
    """Asks a judge for the better of two answers, in both orders. Of `judge` count `model`, `base_url`,
    `sampling_params` and `criteria`, a text that says what is better."""
    criteria = f" by these criteria: {judge['criteria']}" if judge.get("criteria") else ""

    def ask(one: str, other: str) -> Verdict:
        text = PAIR.format(criteria=criteria, request=request, first=one, second=other)
        return _judge(judge, [{"role": "user", "content": text}], ("A", "B", "tie"))

    told, swapped = ask(first, second), ask(second, first)
    one, other = IN_ORDER[told.result], SWAPPED[swapped.result]
    explanation = f"{told.result}: {told.reasoning}\nin the other order {swapped.result}: {swapped.reasoning}"
    return Preference(one if one == other else "tie", one == other, explanation)


def summary(preferences: list[Preference]) -> dict[str, float]:
    """How often each side is better, and the share of pairs in which the judge agrees with itself."""
    counts = Counter(preference.better for preference in preferences)
    agreement = sum(preference.consistent for preference in preferences) / max(len(preferences), 1)
    return {**{name: counts[name] for name in ("first", "second", "tie")}, "agreement": agreement}


def _messages(grader: Grader, item: Item, sample: Sample) -> list[dict[str, str]]:
    return [
        {"role": one["role"], "content": fill(_text(one["content"]), item, sample)} for one in grader["input"]
    ]


def _text(content: Any) -> str:
    """A text, a part of a message, or several."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in ([content] if isinstance(content, Mapping) else content))


def _judge(grader: Grader, messages: list[dict[str, str]], allowed: Labels | Range) -> Verdict:
    given = grader.get("sampling_params") or {}
    # OpenAI's graders have a name of their own for it.
    names = {"max_completions_tokens": "max_completion_tokens"}
    parameters = {names.get(name, name): value for name, value in given.items() if value is not None}
    result: dict[str, Any]
    if isinstance(allowed[0], str):
        result = {"type": "string", "enum": list(allowed)}
    else:
        result = {"type": "number", "description": f"from {allowed[0]:g} to {allowed[1]:g}"}
    schema = {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "result": result},
        "required": ["reasoning", "result"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
    # For servers that ignore the format, or have none.
    how = f"Answer with JSON that fits this schema: {json.dumps(schema)}"
    *before, last = messages
    if last["role"] == "user":
        messages = [*before, {"role": "user", "content": f"{last['content']}\n\n{how}"}]
    else:
        messages = [*messages, {"role": "user", "content": how}]
    body = {"model": grader["model"], "messages": messages, "response_format": form, **parameters}
    return _verdict(server_of(grader), json.dumps(body), allowed)


@lru_cache(maxsize=1 << 14)
def _verdict(server: Server, request_body: str, allowed: Labels | Range) -> Verdict:
    """The verdict of a request, asked again while it may pass: equal requests have one verdict."""
    body = json.loads(request_body)
    for wait in [*WAITS, None]:
        try:
            status, after, answer = request(server, "POST", "/chat/completions", json.dumps(body))
            if status == 200:
                return _read_verdict(server, body["model"], answer, allowed)
            error = JudgeError(refusal(server, status, answer))
            if status == 400 and b"response_format" in answer and "response_format" in body:
                # It also stands in the message.
                body, after = {name: value for name, value in body.items() if name != "response_format"}, 0.0
            elif status < 500 and status not in PASSING:
                break
        except JudgeError as failed:
            error, after = failed, None
        if wait is not None:
            time.sleep(min(after if after is not None else wait, LONGEST_WAIT))
    raise error


def _read_verdict(server: Server, model: str, answer: bytes, allowed: Labels | Range) -> Verdict:
    try:
        whole = json.loads(answer)
        with _counting:
            taken = _usage.setdefault(model, Counter())
            taken["requests"] += 1
            for name in ("prompt_tokens", "completion_tokens"):
                taken[name] += int((whole.get("usage") or {}).get(name) or 0)
        message = whole["choices"][0]["message"]
        text = str(message.get("content") or message.get("refusal") or "")
    except (ValueError, LookupError, TypeError, AttributeError):
        raise JudgeError(f"{server.url} does not answer as OpenAI's API does.", "parse") from None
    wrong = f"The judge answered {text[:200]!r}, "
    try:
        # Some servers ignore the format, and models write around it.
        told = json.loads(text[text.index("{") : text.rindex("}") + 1])
        result, reasoning = told["result"], str(told.get("reasoning", ""))[:2000]
    except (ValueError, LookupError, TypeError):
        raise JudgeError(f"{wrong}which is not JSON with a result.", "parse") from None
    if isinstance(allowed[0], str):
        if result not in allowed:
            raise JudgeError(f"{wrong}whose result is none of {', '.join(map(str, allowed))}.", "parse")
        return Verdict(result, reasoning)
    is_number = isinstance(result, int | float) and not isinstance(result, bool) and math.isfinite(result)
    if not is_number or not allowed[0] <= result <= allowed[1]:
        raise JudgeError(f"{wrong}whose result is no number from {allowed[0]:g} to {allowed[1]:g}.", "parse")
    return Verdict(float(result), reasoning)
