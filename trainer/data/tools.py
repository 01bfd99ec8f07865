"""Tools in conversations: what a chat template is given of them, how it writes them, and what is called in an
answer.

Rows have them in OpenAI's format: `tools` beside the messages, `tool_calls` of the assistant, and messages of
the role `tool`. In the trainer the first message of a conversation has the `tools` of its row, so that each
beginning of it is rendered with them.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.protocol.row import Message, Row

# A message as a template gets it.
Given = dict[str, Any]

ADVICE = (
    "Set tool_syntax to hermes, or choose a model whose chat template has tools, such as an "
    "instruction-tuned one of Qwen2.5, Qwen3, Llama 3.1 or Mistral, or remove tools and calls from the rows."
)


class Tools(TypedDict):
    """What `describe` tells of a template: whether it writes `tools`, `calls` and `results`,
    and whether it is given the arguments of calls as an `object` or as `text`."""

    tools: bool
    calls: bool
    results: bool
    arguments: str


def conversation(row: Row, messages: list[Message]) -> list[Message]:
    """The `messages` of a row, with contents that are texts and arguments that are JSON texts; results have
    the names of their functions, and the first message has the row's tools."""
    names: dict[str, str] = {}
    made: list[Message] = []
    for message in messages:
        said: Message = {**message, "content": message.get("content") or ""}
        said.pop("tools", None)
        calls = said.pop("tool_calls", None)
        if calls:
            said["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {
                        "name": call["function"]["name"],
                        "arguments": _text(call["function"].get("arguments")),
                    },
                }
                for call in calls
            ]
            names.update((call["id"], call["function"]["name"]) for call in calls)
        if said["role"] == "tool":
            said["name"] = names.get(message["tool_call_id"], "")
        made.append(said)
    if row.get("tools"):
        made[0]["tools"] = [_listed(tool["function"]) for tool in row["tools"]]
    return made


def _listed(function: Mapping[str, Any]) -> dict[str, object]:
    """A tool as templates list it (`toolUseOf` in `src/api/openai/completions/tools.ts`)."""
    shown = ("name", "description", "parameters")
    told = {name: function[name] for name in shown if function.get(name) is not None}
    return {"type": "function", "function": told}


def _text(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments.strip() or "{}"
    return json.dumps(arguments or {}, ensure_ascii=False)


def fields_of(message: Message) -> Given:
    """What a message has beside its role, content and reasoning, as `render` gets it."""
    made: Given = {}
    if message.get("tools"):
        made["tools"] = message["tools"]
    if message.get("tool_calls"):
        made["tool_calls"] = message["tool_calls"]
    if message["role"] == "tool":
        made["tool_call_id"], made["name"] = message["tool_call_id"], message["name"]
    return made


def text_of(message: Given) -> str:
    """A message as it is shown: its content and its calls."""
    calls = [json.dumps(call["function"], ensure_ascii=False) for call in message.get("tool_calls", ())]
    return "\n".join([message["content"], *calls] if message["content"] else calls)


def in_template(described: Tools | None, messages: list[Given]) -> tuple[list[Given], list[Any]]:
    """The messages as the template `described` is given them, and the tools apart.

    Failure `bad_tokenizer` where it would leave something out.
    """
    tools = messages[0].get("tools", []) if messages else []
    if not has_tools(messages):
        return messages, tools
    if described is not None:
        _refuse(described, messages)
    as_text = described is not None and described["arguments"] == "text"
    made = []
    for message in messages:
        message = {name: value for name, value in message.items() if name != "tools"}
        if "tool_calls" in message:
            message["tool_calls"] = [_call(call, as_text) for call in message["tool_calls"]]
        if "tool_call_id" in message:
            message["tool_call_id"] = _short(message["tool_call_id"])
        made.append(message)
    return made, _plain_numbers(tools)


def has_tools(messages: Sequence[Given]) -> bool:
    """Whether a conversation has tools, calls or results."""
    return any(
        message["role"] == "tool" or "tools" in message or "tool_calls" in message for message in messages
    )


def _refuse(described: Tools, messages: list[Given]) -> None:
    found = {
        "tools": "tools" in messages[0],
        "calls": any("tool_calls" in message for message in messages),
        "results": any(message["role"] == "tool" for message in messages),
    }
    words = {"tools": "tools", "calls": "tool calls", "results": "results of tools"}
    wanted = [words[name] for name in words if found[name] and not described[name]]  # type: ignore[literal-required]
    if wanted:
        raise Failure(
            "bad_tokenizer",
            f"The model's chat template writes no {' and no '.join(wanted)}, so they would be left out "
            "of this conversation.",
            ADVICE,
        )


def require_written(message: Given, completion: str) -> None:
    """Failure `bad_tokenizer` where the template leaves calls, or a text beside them, out of an answer."""
    calls = message.get("tool_calls", ())
    left_out = [call["function"]["name"] for call in calls if call["function"]["name"] not in completion]
    if left_out:
        raise Failure(
            "bad_tokenizer",
            f"The model's chat template leaves out the call of {left_out[0][:60]}.",
            "Train a message for each call, or choose another model.",
        )
    content = message["content"].strip()
    if calls and content not in completion:
        raise Failure(
            "bad_tokenizer",
            f"The model's chat template leaves out the text beside a tool call: {content[:60]!r}.",
            "Empty the content of messages with tool calls, or choose another model.",
        )


def _call(call: Given, as_text: bool) -> Given:
    function = call["function"]
    if not as_text:
        function = {**function, "arguments": _plain_numbers(json.loads(function["arguments"]))}
    return {**call, "id": _short(call["id"]), "function": function}


def _short(identifier: str) -> str:
    """An ID as Mistral's templates take it, and as `src/inference/template/tool-messages.ts` has it."""
    taken = re.fullmatch("[a-zA-Z0-9]{9}", identifier)
    return identifier if taken else hashlib.sha256(identifier.encode()).hexdigest()[:9]


def _plain_numbers(value: Any) -> Any:
    """A value of JSON with whole numbers where they are written as 1.0: the playground's JavaScript has no
    others."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, list):
        return [_plain_numbers(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain_numbers(one) for name, one in value.items()}
    return value


# The figures of answers where tools are offered, in percent.
FIGURES = ("right_tool", "right_arguments")
# The beginning of arguments behind the name of a function, in the notations of
# `src/inference/template/tool-styles.ts`: before it are at most the end of a quotation and the next key, a
# token, or a fence.
ARGUMENTS = re.compile(
    r"[^{}()]{0,60}?(?=\{|<parameter=|<arg_key>)|\s*>\s*(?=</function>)|\s*(?=</tool_call>)|(?=\()"
)
# In Python's notation a name is in a list of calls.
LISTED = re.compile(r"(?:\[|\),)\s*$")


def names_of(prompt: Sequence[Given]) -> tuple[str, ...]:
    """The names of the functions that a conversation offers."""
    return tuple(tool["function"]["name"] for tool in prompt[0].get("tools", ())) if prompt else ()


def calls_in(text: str, names: Collection[str]) -> list[tuple[str, str]]:
    """The calls of functions of these `names` in an answer, in whichever notation: each name with its
    arguments, as canonical JSON, or where they are none as their text without white space."""
    if not names:
        return []
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w.-])({words})(?![\w-])|(?<=functions\.)({words})(?![\w-])")
    found: list[tuple[str, str]] = []
    at = 0
    while match := pattern.search(text, at):
        at = match.end()
        opening = ARGUMENTS.match(text, at)
        if opening is None:
            continue
        begins = text[opening.end() : opening.end() + 1]
        if begins == "(" and not LISTED.search(text, 0, match.start()):
            continue
        try:
            value, at = (_keywords if begins == "(" else json.JSONDecoder().raw_decode)(text, opening.end())
            arguments = json.dumps(_plain_numbers(value), sort_keys=True)
        except ValueError:
            following = pattern.search(text, opening.end())
            at = following.start() if following else len(text)
            arguments = "".join(text[opening.end() : at].split())
        found.append((match[1] or match[2], arguments))
    return found


def _keywords(text: str, start: int) -> tuple[dict[str, object], int]:
    """The arguments of a call in Python's notation from its parenthesis on, and where it ends. ValueError
    where it has none."""
    for closing in re.finditer(r"\)", text[start:]):
        end = start + closing.end()
        try:
            call = ast.parse(f"call{text[start:end]}", mode="eval").body
            assert isinstance(call, ast.Call)
            return {one.arg or "": ast.literal_eval(one.value) for one in call.keywords}, end
        except (SyntaxError, ValueError):
            continue
    raise ValueError("No call in Python's notation.")


def figures(
    answers: Sequence[str], references: Sequence[str], offered: Sequence[Collection[str]]
) -> dict[str, float]:
    """In how many of the answers to prompts that offer tools (their names in `offered`) the functions of the
    reference are called, none where it calls none, and in how many with its arguments, in percent; empty
    where no prompt offers tools."""
    tools, whole = [], []
    for answer, reference, names in zip(answers, references, offered, strict=True):
        if names:
            given, wanted = calls_in(answer, names), calls_in(reference, names)
            tools.append(Counter(name for name, _ in given) == Counter(name for name, _ in wanted))
            whole.append(Counter(given) == Counter(wanted))
    if not tools:
        return {}
    return dict(zip(FIGURES, (100 * sum(one) / len(one) for one in (tools, whole)), strict=True))


# Words that no template has of its own.
NAME, ARGUMENT, VALUE, RESULT = "toolQ7", "argQ7", "valueQ7", "resultQ7"
PROBE = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": "description",
        "parameters": {
            "type": "object",
            "properties": {ARGUMENT: {"type": "string", "description": "description"}},
            "required": [ARGUMENT],
        },
    },
}
# A conversation that ends with a call of the probed tool.
CALLED: list[Given] = [
    {"role": "user", "content": "question", "tools": [PROBE]},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "abcdefghi",
                "type": "function",
                "function": {"name": NAME, "arguments": json.dumps({ARGUMENT: VALUE})},
            }
        ],
    },
]


def describe(render: Callable[[Tools, list[Given], bool], str]) -> Tools:
    """What `template.json` holds of a template's tools; `render` renders with a description.

    Arguments are objects, as transformers gives them, unless the template writes Python's notation of an
    object, or fails with one, and writes a text as it is.
    """

    def shown(arguments: str, messages: list[Given], generation: bool = False) -> str:
        described: Tools = {"tools": True, "calls": True, "results": True, "arguments": arguments}
        try:
            return render(described, messages, generation)
        except Failure:
            return ""

    by_object, by_text = shown("object", CALLED), shown("text", CALLED)
    escaped = f'\\"{ARGUMENT}'
    as_text = (VALUE not in by_object or f"'{ARGUMENT}'" in by_object) and (
        VALUE in by_text and escaped not in by_text
    )
    result = {"role": "tool", "content": RESULT, "tool_call_id": "abcdefghi", "name": NAME}
    arguments = "text" if as_text else "object"
    return {
        "tools": ARGUMENT in shown(arguments, CALLED[:1], True),
        "calls": VALUE in (by_text if as_text else by_object),
        "results": RESULT in shown(arguments, [*CALLED, result], True),
        "arguments": arguments,
    }
