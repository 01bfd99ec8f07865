"""What the rows of a source are, and how each becomes a row of Hone's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.importing.conversation import messages_of
from trainer.importing.faults import BadRow
from trainer.importing.template import Template
from trainer.importing.tools import OFFERED, Calls, offered
from trainer.importing.values import text_of, value_at
from trainer.protocol.contracts import ROW_SHAPES

Row = dict[str, Any]

TOOLS = (*OFFERED, "parallel_tool_calls")
UNPAIRED = ROW_SHAPES["unpaired-preference"]
# Labels of answers.
GOOD = frozenset(
    ("true", "1", "yes", "y", "up", "good", "positive", "like", "liked", "desirable", "\U0001f44d", "+1")
)
BAD = frozenset(
    (
        "false",
        "0",
        "-1",
        "no",
        "n",
        "down",
        "bad",
        "negative",
        "dislike",
        "disliked",
        "undesirable",
        "\U0001f44e",
    )
)


@dataclass(frozen=True)
class Conversion:
    """How rows are converted: to the shape `target`, from `columns` (None: all of them)."""

    shape: str
    target: str
    convert: Callable[[Row], Row]
    columns: list[str]
    # Whether every row of strings in these columns converts.
    flat: bool = False
    # The columns of the fields, where a row of strings becomes one of the same strings.
    fields: dict[str, str] | None = None
    # Columns that change what a row becomes, where only some rows have them.
    optional: tuple[str, ...] = ()


def conversion_of(mapping: Mapping[str, Any] | None, columns: Sequence[str], first: Row) -> Conversion | None:
    """The conversion that a mapping asks for, or that of the detected shape; None if there is none."""
    if mapping is not None:
        return _chosen(mapping)
    has = first.keys().__contains__
    if has("preferred_output") and has("non_preferred_output"):
        return Conversion(
            "openai-preference",
            "preference",
            _openai_preference,
            ["input", "preferred_output", "non_preferred_output"],
        )
    if has("messages") and isinstance(first.get("label"), bool):
        answer = next((name for name in ("completion", "response", "answer") if has(name)), None)
        used = ["messages", *([answer] if answer else []), "label", *TOOLS]
        return Conversion("unpaired-preference", "unpaired-preference", _rated(answer), used)
    if has("messages") and _is_prompt(first):
        return Conversion("openai-prompts", "prompt", _openai_prompt, list(columns))
    conversation = next((name for name in ("conversations", "messages") if has(name)), None)
    if conversation is not None:
        convert = _conversation(conversation)
        shape = "sharegpt" if _is_sharegpt(first[conversation]) else "openai-chat"
        if conversation == "messages" and first["messages"] == _or_none(convert, first):
            shape = "messages"
        kept = [name for name in columns if name in (conversation, "system", *TOOLS)]
        return Conversion(shape, "messages", convert, kept)
    if has("instruction") and has("output"):
        fields = [name for name in ("instruction", "input", "output", "system", "history") if has(name)]
        as_messages = has("system") or has("history")
        return Conversion(
            *("alpaca", "messages", _alpaca_messages) if as_messages else ("alpaca", "input-output", _alpaca),
            fields,
            flat=not as_messages,
            fields=None if as_messages or has("input") else {"input": "instruction", "output": "output"},
            optional=("input",),
        )
    if all(has(field) for field in UNPAIRED) and is_label(first["label"]):
        return _mapped("unpaired-preference", "unpaired-preference", {name: name for name in UNPAIRED})
    if has("prompt") and has("completion"):
        if isinstance(first["prompt"], list):
            return Conversion(
                "prompt-completion", "messages", _prompt_completion, ["prompt", "completion", *TOOLS]
            )
        columns_of = {"input": "prompt", "output": "completion"}
        return _mapped("prompt-completion", "input-output", columns_of)
    if has("chosen") and has("rejected") and isinstance(first["chosen"], list):
        fields = [name for name in ("prompt", "chosen", "rejected", *TOOLS) if has(name)]
        return Conversion("preference", "preference", _preference, fields)
    for shape in ("preference", "question-answer", "input-output"):
        if all(has(field) for field in ROW_SHAPES[shape]):
            return _mapped(shape, shape, {field: field for field in ROW_SHAPES[shape]})
    # A text beside other columns may be labelled, and is not taken for all that there is to learn.
    if list(columns) == ["text"]:
        return _mapped("text", "text", {"text": "text"})
    return None


def _mapped(shape: str, target: str, columns: dict[str, str]) -> Conversion:
    fields = {field: columns[field] for field in ROW_SHAPES[target]}
    if target == "messages":
        return Conversion(shape, target, _conversation(columns["messages"]), [columns["messages"], *TOOLS])

    def convert(row: Row) -> Row:
        if target == "preference":
            values = {field: value_at(row, column) for field, column in fields.items()}
            if any(isinstance(value, list) for value in values.values()):
                return _preference(values)
        if target == "unpaired-preference":
            return _unpaired({field: value_at(row, column) for field, column in fields.items()}, fields)
        if target == "prompt" and isinstance(value_at(row, fields["prompt"]), list):
            return {"prompt": messages_of(value_at(row, fields["prompt"]), "prompt", learned=False)}
        return {field: text_of(row, column) for field, column in fields.items()}

    flat = target != "unpaired-preference"
    return Conversion(
        shape, target, convert, list(fields.values()), flat=flat, fields=fields if flat else None
    )


def _chosen(mapping: Mapping[str, Any]) -> Conversion:
    """The conversion of a mapping, which may have templates, a system prompt, and columns to keep."""
    target, columns = mapping["target"], mapping["columns"]
    templates = {field: Template(text) for field, text in (mapping.get("templates") or {}).items()}
    system = Template(mapping["system"]) if mapping.get("system") else None
    kept = mapping.get("metadata") or []
    if not (templates or system or kept):
        return _mapped("columns", target, columns)
    plain = None if templates else _mapped("columns", target, columns)

    def convert(row: Row) -> Row:
        if plain is not None:
            made = plain.convert(row)
        else:
            made = {
                field: templates[field].of(row) if field in templates else text_of(row, columns[field])
                for field in ROW_SHAPES[target]
            }
            if "label" in made:
                made["label"] = label_of(made["label"], columns.get("label", "label"))
        if system is not None:
            made = _with_system(made, system, row)
        if kept:
            made["metadata"] = {column: value_at(row, column) for column in kept}
        return made

    used = [*columns.values(), *kept, *(name for one in templates.values() for name in one.columns)]
    return Conversion(
        "columns",
        "messages" if system is not None else target,
        convert,
        list(dict.fromkeys([*used, *(system.columns if system is not None else ())])),
        flat=target not in ("messages", "unpaired-preference"),
    )


def _with_system(made: Row, system: Template, row: Row) -> Row:
    """A conversation with a system message, unless it begins with one or the row has none."""
    messages = made.get("messages") or [
        {"role": "user", "content": made["input"]},
        {"role": "assistant", "content": made["output"]},
    ]
    try:
        content = system.of(row)
    except BadRow:
        content = ""
    if content.strip() and messages[0]["role"] != "system":
        messages = [{"role": "system", "content": content}, *messages]
    return {"messages": messages, **{name: made[name] for name in TOOLS if name in made}}


def _optional(row: Row, column: str) -> str:
    return "" if row.get(column) is None else text_of(row, column)


def _alpaca(row: Row) -> Row:
    parts = [text_of(row, "instruction"), _optional(row, "input")]
    return {"input": "\n\n".join(part for part in parts if part), "output": text_of(row, "output")}


def _alpaca_messages(row: Row) -> Row:
    """Alpaca with a system message, and earlier turns as pairs of a question and its answer."""
    plain = _alpaca(row)
    system = _optional(row, "system")
    turns: list[Row] = [{"role": "system", "content": system}] if system else []
    for pair in row.get("history") or []:
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadRow('column "history" must hold pairs of a question and its answer', "history")
        turns += [{"role": "user", "content": pair[0]}, {"role": "assistant", "content": pair[1]}]
    turns += [{"role": "user", "content": plain["input"]}, {"role": "assistant", "content": plain["output"]}]
    return {"messages": messages_of(turns, "history")}


def _conversation(column: str) -> Callable[[Row], Row]:
    def convert(row: Row) -> Row:
        messages = messages_of(value_at(row, column), column)
        system = row.get("system")
        if isinstance(system, str) and system and messages[0]["role"] != "system":
            messages.insert(0, {"role": "system", "content": system})
        return {"messages": messages, **offered(row)}

    return convert


def _is_sharegpt(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "from" in value[0]


def _or_none(convert: Callable[[Row], Row], row: Row) -> object:
    try:
        return convert(row)["messages"]
    except BadRow:
        return None


def _prompt_completion(row: Row) -> Row:
    """A conversation of which the completion alone is learned."""
    calls = Calls()
    prompt = [
        {**turn, "weight": 0} if turn["role"] == "assistant" else turn
        for turn in messages_of(row.get("prompt"), "prompt", learned=False, calls=calls)
    ]
    completion = messages_of(row.get("completion"), "completion", calls=calls)
    return {"messages": prompt + completion, **offered(row)}


def _preference(row: Row) -> Row:
    """Conversations: the prompt may stand in `prompt`, or at the beginning of both answers."""
    chosen, rejected = (messages_of(row.get(side), side, learned=False) for side in ("chosen", "rejected"))
    prompt = row.get("prompt")
    if isinstance(prompt, list):
        before = messages_of(prompt, "prompt", learned=False)
    elif len(chosen) == 1 and isinstance(prompt, str):
        before = [{"role": "user", "content": prompt}]
    else:
        before = chosen[:-1]
    for side, turns in (("chosen", chosen), ("rejected", rejected)):
        if len(turns) > 1 and turns[:-1] != before:
            raise BadRow(f'column "{side}" does not begin with the prompt', side)
        if turns[-1]["role"] != "assistant":
            raise BadRow(f'column "{side}" does not end with an assistant message', side)
    if not before or before[-1]["role"] not in ("user", "tool"):
        raise BadRow("the prompt does not end with a message of the user or a tool", "prompt")
    # Weights are for supervised rows: both answers of a preference are learned from.
    for turn in (*before, *chosen, *rejected):
        turn.pop("weight", None)
    return {"prompt": before, "chosen": chosen[-1:], "rejected": rejected[-1:], **offered(row)}


def _rated(answer: str | None) -> Callable[[Row], Row]:
    """Conversations with labels: what is labelled stands in the column `answer`, or is their last message."""

    def convert(row: Row) -> Row:
        values = {"prompt": row.get("messages"), "completion": answer and row.get(answer)}
        if answer is None:
            *before, last = messages_of(row.get("messages"), "messages", learned=False)
            values = {"prompt": before, "completion": [last]}
        made = _unpaired({**values, "label": row.get("label")}, {"prompt": "messages", "label": "label"})
        if made["prompt"][-1]["role"] not in ("user", "tool"):
            raise BadRow("the prompt does not end with a message of the user or a tool", "messages")
        if isinstance(made["completion"], list) and made["completion"][-1]["role"] != "assistant":
            raise BadRow("the conversation does not end with an assistant message", "messages")
        return {**made, **offered(row)}

    return convert


def _unpaired(values: Row, columns: Mapping[str, str]) -> Row:
    """A prompt and an answer, each a text or a list of messages, with its label."""
    made: Row = {}
    for field in ("prompt", "completion"):
        value, column = values[field], columns.get(field, field)
        if not isinstance(value, list):
            made[field] = text_of({column: value}, column)
            continue
        made[field] = messages_of(value, column, learned=False)
        for turn in made[field]:
            turn.pop("weight", None)
    return {**made, "label": label_of(values["label"], columns["label"])}


def label_of(value: object, column: str) -> bool:
    """Whether a label says that an answer is good. @raises BadRow for one that says neither."""
    word = str(value).strip().lower().removesuffix(".0").replace("thumbs_", "").replace("thumbs ", "")
    if word in GOOD or word in BAD:
        return word in GOOD
    raise BadRow(
        f'column "{column}" must hold labels such as true and false, up and down, 1 and 0; found "{value}"'[
            :300
        ],
        column,
    )


def is_label(value: object) -> bool:
    """Whether `label_of` knows a value."""
    try:
        label_of(value, "")
    except BadRow:
        return False
    return True


def _is_prompt(row: Row) -> bool:
    """Whether a conversation ends with the user, for an answer that is graded: there is none to learn, or
    further columns say what is wanted."""
    messages = row["messages"]
    if not isinstance(messages, list) or not all(isinstance(turn, dict) for turn in messages):
        return False
    roles = [turn.get("role") for turn in messages]
    further = row.keys() - {"messages", *TOOLS}
    return roles[-1:] == ["user"] and ("assistant" not in roles or bool(further))


def _openai_prompt(row: Row) -> Row:
    messages = messages_of(row.get("messages"), "messages", learned=False)
    if messages[-1]["role"] not in ("user", "tool"):
        raise BadRow("the conversation does not end with a message of the user or a tool", "messages")
    further = {name: value for name, value in row.items() if name not in ("messages", *TOOLS)}
    return {"prompt": messages, **offered(row), **further}


def _openai_preference(row: Row) -> Row:
    given = row.get("input")
    if not isinstance(given, dict):
        raise BadRow('column "input" must hold an object with messages', "input")
    return _preference(
        {
            **{name: given.get(name) for name in TOOLS},
            "prompt": given.get("messages"),
            "chosen": row.get("preferred_output"),
            "rejected": row.get("non_preferred_output"),
        }
    )
