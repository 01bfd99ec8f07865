"""How a chat template writes tools, calls and results, found by rendering it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from trainer.data.template import common_length
from trainer.export.ollama.affixes import Affixes, NotExpressible, Render, cut
from trainer.protocol.failures import Failure

Message = dict[str, Any]

# Letters that stand for values in the texts of a template.
SYSTEM, TOOLS, NAME, ARGUMENTS, ID, CONTENT = "\ue000\ue001\ue002\ue003\ue004\ue005"
PARTS_OF_CALLS = (NAME, ARGUMENTS, ID)


@dataclass(frozen=True)
class Layout:
    """The white space of JSON."""

    comma: str
    colon: str
    indent: int | None = None

    def write(self, value: object) -> str:
        """`value` as JSON."""
        separators = (self.comma, self.colon)
        return json.dumps(value, ensure_ascii=False, indent=self.indent, separators=separators)


LAYOUTS = (Layout(", ", ": "), Layout(",", ":"), Layout(",", ": ", 4), Layout(",", ": ", 2))


@dataclass(frozen=True)
class ToolAffixes:
    """A chat template that writes tools, calls and results as JSON, with fixed text around them.

    Offered tools change the text before the first message of the user, or with `at_last` the last: `offered`,
    with a system message, and `offered_alone`, without one. `is_whole` says whether tools are written with
    their type. A message with calls begins with `beside`, which has its content (None where that is left
    out), or `bare` if it has none. `calls_begin` and what follows is what the model writes. Results that
    follow one another are a group: `opening` or `between` stands before a result, `behind` after it, and
    `closing` after the last.
    """

    plain: Affixes
    layout: Layout
    is_whole: bool
    between_tools: str
    at_last: bool
    offered: str
    offered_alone: str
    bare: str
    beside: str | None
    calls_begin: str
    call: str
    between_calls: str
    calls_end: str
    arguments: Layout
    is_json_result: bool
    opening: str
    between: str
    behind: str
    closing: str

    def tag(self) -> str:
        """The text by which Ollama recognizes a call."""
        begin = self.calls_begin if self.calls_begin.strip() else self.call.partition(NAME)[0]
        return begin.partition("{")[0].strip() or "{"

    def render(self, messages: list[Message]) -> str:
        """The prompt that the Go template makes."""
        plain, tools = self.plain, messages[0].get("tools")
        users = [number for number, message in enumerate(messages) if message["role"] == "user"]
        at = users[-1 if self.at_last else 0] if tools and users else None
        replaces = bool(tools) and not self.at_last
        text, in_group = plain.head if replaces else plain.opening(messages), False
        for number, message in enumerate(messages):
            is_result = message["role"] == "tool"
            if in_group and not is_result:
                text += self.closing
            if is_result:
                content = json.dumps(message["content"], ensure_ascii=False)
                shown = content if self.is_json_result else message["content"]
                result = (self.between if in_group else self.opening) + CONTENT + self.behind
                filled = result.replace(ID, message["tool_call_id"]).replace(NAME, message["name"])
                text += filled.replace(CONTENT, shown)
            elif "tool_calls" in message:
                text += self._calls(message)
            elif number == at:
                text += self._offer(messages, number, tools or []) + message["content"]
                text += plain.around["user"][1]
            elif not (replaces and number == 0 and message["role"] == "system"):
                text += plain.message(messages, number)
            in_group = is_result
        return text + (self.closing if in_group else "") + plain.generation

    def _offer(self, messages: list[Message], number: int, tools: list[Message]) -> str:
        texts = [message["content"] for message in messages if message["role"] == "system"]
        system = "\n\n".join(texts) if self.plain.late else (texts or [""])[0]
        shows = bool(system) and (not self.plain.late or number == len(messages) - 1)
        written = [self.layout.write(tool if self.is_whole else tool["function"]) for tool in tools]
        text = self.offered if shows else self.offered_alone
        return text.replace(TOOLS, self.between_tools.join(written)).replace(SYSTEM, system)

    def _calls(self, message: Message) -> str:
        begin = self.bare
        if message["content"] and self.beside is not None:
            begin = self.beside.replace(CONTENT, message["content"])
        calls = []
        for call in message["tool_calls"]:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            text = self.call.replace(NAME, name).replace(ID, call["id"])
            calls.append(text.replace(ARGUMENTS, self.arguments.write(arguments)))
        return begin + self.calls_begin + self.between_calls.join(calls) + self.calls_end


def _tool(name: str) -> Message:
    properties = {
        "citQ5": {"type": "string", "description": "Where it is."},
        "unitQ6": {"type": "string", "enum": ["c", "f"], "description": "The unit."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["citQ5"]}
    return {
        "type": "function",
        "function": {"name": name, "description": f"What {name} does.", "parameters": parameters},
    }


NAMES, IDS = ("toolQ7a", "toolQ7b"), ("callQ8aaa", "callQ8bbb")
GIVEN = ({"citQ5": "Q9 Zürich", "days": 3}, {"citQ5": "Q9 Bern", "unitQ6": "c"})
RESULTS = ('rQ10 "a"', 'rQ11 "b"')
OFFERED = [_tool(name) for name in NAMES]
USER: Message = {"role": "user", "content": "uQ1u"}
ANSWER: Message = {"role": "assistant", "content": "aQ2a"}
AGAIN: Message = {"role": "user", "content": "wQ3w"}
INSTRUCTION: Message = {"role": "system", "content": "sQ4s"}


def _calling(*numbers: int, content: str = "") -> Message:
    calls = [
        {
            "id": IDS[number],
            "type": "function",
            "function": {"name": NAMES[number], "arguments": json.dumps(GIVEN[number], ensure_ascii=False)},
        }
        for number in numbers
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def _result(number: int) -> Message:
    return {
        "role": "tool",
        "content": RESULTS[number],
        "tool_call_id": IDS[number],
        "name": NAMES[number],
    }


def find_tool_affixes(render: Render, plain: Affixes) -> ToolAffixes:
    """How a template writes tools, found by rendering it; `plain` is how it writes other messages.

    NotExpressible where that is not as ToolAffixes has it, or differs on other conversations."""

    def shown(*messages: Message, generation: bool = True) -> str:
        return render([{**messages[0], "tools": OFFERED}, *messages[1:]], generation)

    try:
        layout, is_whole, between = _tools_layout(shown(USER, ANSWER, AGAIN))
        listed = between.join(layout.write(tool if is_whole else tool["function"]) for tool in OFFERED)
        at_last = shown(USER, ANSWER, AGAIN).index(listed) > shown(USER, ANSWER, AGAIN).index("uQ1u")

        def offered(*before: Message) -> str:
            first, _, again, _ = cut(
                shown(*before, USER, ANSWER, AGAIN), USER["content"], ANSWER["content"], AGAIN["content"]
            )
            text = again.removeprefix(plain.around["assistant"][1]) if at_last else first
            return (
                text.removeprefix("" if at_last else plain.head)
                .replace(listed, TOOLS)
                .replace(INSTRUCTION["content"], SYSTEM)
            )

        alone = offered()
        found = ToolAffixes(
            plain=plain,
            layout=layout,
            is_whole=is_whole,
            between_tools=between,
            at_last=at_last,
            offered=offered(INSTRUCTION) if "system" in plain.around else alone,
            offered_alone=alone,
            **_conversation(shown, plain),
        )
        for talk in _talks(shown, plain, found.beside is not None):
            if found.render(talk) != render(talk, True):
                raise NotExpressible("does more than put fixed text around tools, calls and results")
    except Failure as failure:
        raise NotExpressible("accepts no plain conversation with tools") from failure
    return found


def _tools_layout(text: str) -> tuple[Layout, bool, str]:
    """The layout of listed tools, whether they have their type, and the text between two."""
    for layout in LAYOUTS:
        for is_whole in (True, False):
            one, other = (layout.write(tool if is_whole else tool["function"]) for tool in OFFERED)
            if one in text and other in text.partition(one)[2]:
                return layout, is_whole, text.partition(one)[2].partition(other)[0]
    raise NotExpressible("does not list tools as JSON")


def _conversation(shown: Any, plain: Affixes) -> dict[str, Any]:
    """The fields of ToolAffixes about calls and results."""
    marks = dict(zip((*NAMES, *IDS), (NAME, NAME, ID, ID), strict=True))
    once = shown(USER, _calling(0), _result(0))
    arguments = next((one for one in LAYOUTS[:2] if one.write(GIVEN[0]) in once), None)
    if arguments is None:
        raise NotExpressible("does not write the arguments of calls as JSON")
    marks |= {arguments.write(given): ARGUMENTS for given in GIVEN}
    is_json = RESULTS[0] not in once
    marks |= {json.dumps(text, ensure_ascii=False) if is_json else text: CONTENT for text in RESULTS}

    def behind_user(text: str) -> str:
        text = text.rpartition(USER["content"])[2]
        if not text.startswith(plain.around["user"][1]):
            raise NotExpressible("ends a message otherwise where a call follows")
        text = text.removeprefix(plain.around["user"][1])
        for value, mark in marks.items():
            text = text.replace(value, mark)
        return text

    # A template may write a call otherwise where nothing follows it, but not its end.
    written = behind_user(shown(USER, _calling(0), generation=False))
    end, count = _behind_marks(written, None), sum(map(written.count, PARTS_OF_CALLS))
    single, result = _parted(behind_user(once), count, end)
    before, core, end = _around_marks(single)
    begin, call, between, calls_end, results = before, core, "", end, None
    try:
        twice = behind_user(shown(USER, _calling(0, 1), _result(0), _result(1)))
    except Failure:
        # Some templates take a call at a time.
        pass
    else:
        both, results = _parted(twice, 2 * count, end)
        middle = both.removeprefix(before + core).removesuffix(core + end)
        # What a message of the assistant begins with is no part of a call.
        own = before[common_length(before, plain.around["assistant"][0].rstrip()) :]
        shared = common_length(own[::-1], middle[::-1])
        first = own[len(own) - shared :]
        last = middle[: common_length(middle.removesuffix(first), end)]
        begin, call, calls_end = before.removesuffix(first), first + core + last, end.removeprefix(last)
        between = middle.removesuffix(first).removeprefix(last)
    bare = begin[: common_length(begin, plain.around["assistant"][0])]
    begin = begin.removeprefix(bare)
    if not (begin + call.partition(NAME)[0]).strip():
        raise NotExpressible("begins a call with the name of its function")
    return {
        "bare": bare,
        "beside": _beside(shown, behind_user, begin + call[: call.index(NAME)]),
        "calls_begin": begin,
        "call": call,
        "between_calls": between,
        "calls_end": calls_end,
        "arguments": arguments,
        "is_json_result": is_json,
        **_results(result, results, plain.generation),
    }


def _beside(shown: Any, behind_user: Any, calls: str) -> str | None:
    """What a message with calls begins with where it has a content, before `calls`."""
    try:
        text = behind_user(shown(USER, _calling(0, content=ANSWER["content"]), _result(0)))
    except Failure:
        return None
    before, found, rest = text.partition(ANSWER["content"])
    if not found:
        return None
    middle = rest[: rest.index(NAME) + 1]
    if NAME in before or (not middle.startswith(NAME) and not middle.endswith(calls + NAME)):
        raise NotExpressible("writes the text beside a call behind it")
    return before + CONTENT + middle.removesuffix(NAME).removesuffix(calls)


def _results(single: str, both: str | None, generation: str) -> dict[str, str]:
    """The fields of ToolAffixes about results."""
    opening, found, behind = single.partition(CONTENT)
    if not found or not behind.endswith(generation):
        raise NotExpressible("writes results or the beginning of the answer behind them otherwise")
    behind = behind.removesuffix(generation)
    if both is None:
        return {"opening": opening, "between": opening, "behind": behind, "closing": ""}
    middle = [*both.split(CONTENT), ""][1]
    after = behind[: common_length(behind, middle)]
    closing, between = behind.removeprefix(after), middle.removeprefix(after)
    if between == closing + opening:
        return {"opening": opening, "between": opening, "behind": behind, "closing": ""}
    return {"opening": opening, "between": between, "behind": after, "closing": closing}


def _marks(text: str) -> list[int]:
    return [at for at, letter in enumerate(text) if letter in PARTS_OF_CALLS]


def _behind_marks(text: str, count: int | None) -> str:
    """What follows the mark number `count`, or the last."""
    marks = _marks(text)
    if not marks or len(marks) < (count or 0):
        raise NotExpressible("leaves a call out")
    return text[marks[(count or len(marks)) - 1] + 1 :]


def _parted(text: str, count: int, end: str) -> tuple[str, str]:
    """A message with calls that have `count` marks, and what follows its `end`."""
    rest = _behind_marks(text, count)
    end = end[: common_length(end, rest)]
    return text[: len(text) - len(rest) + len(end)], rest.removeprefix(end)


def _around_marks(text: str) -> tuple[str, str, str]:
    marks = _marks(text)
    return text[: marks[0]], text[marks[0] : marks[-1] + 1], text[marks[-1] + 1 :]


def _talks(shown: Any, plain: Affixes, with_content: bool) -> list[list[Message]]:
    """Conversations with tools that the affixes must render as the template does."""
    short = [USER]
    called = [USER, _calling(1), _result(1)]
    answered = [*called, ANSWER, AGAIN]
    talks = [short, [USER, ANSWER, AGAIN], called, answered, [*answered, _calling(0), _result(0)]]
    talks += [[*called, _calling(0), _result(0)]]
    if with_content:
        talks += [[USER, _calling(0, content="I\nlook."), _result(0)]]
    try:
        pair = [USER, _calling(1, 0), _result(1), _result(0)]
        shown(*pair)
        talks += [pair, [*pair, ANSWER, AGAIN]]
    except Failure:
        pass
    if "system" in plain.around:
        talks += [[INSTRUCTION, *talk] for talk in talks]
    offers = (OFFERED, OFFERED[:1])
    return [[{**talk[0], "tools": tools}, *talk[1:]] for talk in talks for tools in offers]
