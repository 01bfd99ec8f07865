"""How a chat template writes reasoning, and which of it a run trains (`thinking`).

`keep` leaves the template's switch as it is, `off` turns it off and `learn` on, as a default within the
template, so that every runtime of the GGUF does the same and a request can say otherwise. Only `learn` trains
the reasoning of rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict

from trainer.data import channels, tools
from trainer.data.tools import Given

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.row import Message

# What switches reasoning in published templates: Qwen3, GLM, SmolLM3 and others; Granite and DeepSeek.
SWITCHES = ("enable_thinking", "thinking")
# What reasoning stands between; the first pair where a template has none.
TAGS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<seed:think>", "</seed:think>"))
# Reasoning that no template has of its own.
PROBE = "r7Q2n"

# Renders messages, with or without the start of an answer, with variables if any are given.
Render = Callable[..., str]


class Thinking(TypedDict):
    """What `describe` tells of a template. Templates of earlier versions lack the last two, and `final`."""

    mode: str
    switch: str | None
    open: str
    close: str
    final: str | None
    opens: bool
    opens_on: bool
    opens_off: bool


def tags_of(text: str) -> tuple[str, str]:
    """What a template puts around reasoning."""
    if channels.in_channels(text):
        return channels.OPENING, channels.CLOSING
    return next((pair for pair in TAGS if pair[1] in text), TAGS[0])


def switch_of(text: str) -> str | None:
    """The variable with which a template turns reasoning on or off, if it has one."""
    import jinja2
    from jinja2 import meta
    from jinja2.ext import loopcontrols

    environment = jinja2.Environment(extensions=[loopcontrols])
    source = re.sub(r"\{%-?\s*(end)?generation\s*-?%\}", "", text)
    try:
        asked = meta.find_undeclared_variables(environment.parse(source))
    except jinja2.TemplateError:
        return None
    return next((name for name in SWITCHES if name in asked), None)


def prepare(text: str, mode: str, render: Callable[[str], Render]) -> str:
    """The template `text` for the `mode`; `render` renders with a text."""
    opening, closing = tags_of(text)
    switch = switch_of(text)
    if mode == "keep":
        return text
    if switch is not None:
        value = "true" if mode == "learn" else "false"
        text = f"{{%- if {switch} is not defined -%}}{{%- set {switch} = {value} -%}}{{%- endif -%}}{text}"
    question = {"role": "user", "content": "question"}
    if mode == "off":
        if channels.in_channels(text):
            return text + channels.answering_at_once(switch or SWITCHES[0])
        if opens(render(text)([question], True), opening):
            text += "{%- if add_generation_prompt -%}{{ '\\n" + closing + "\\n\\n' }}{%- endif -%}"
        return text
    answer = {"role": "assistant", "content": "answer", "reasoning_content": PROBE}
    if PROBE in render(text)([question, answer], False):
        return text
    if channels.in_channels(text):
        return channels.renaming() + text
    return _inlining(opening, closing) + text


def _inlining(opening: str, closing: str) -> str:
    """The head of a template that knows no `reasoning_content`: it puts it into the content."""
    content = f"'{opening}\\n' + message['reasoning_content'] + '\\n{closing}\\n\\n' + message['content']"
    return (
        "{%- set with_reasoning = namespace(messages=[]) -%}{%- for message in messages -%}"
        "{%- if message['role'] == 'assistant' and message['reasoning_content'] -%}"
        "{%- if message['tool_calls'] -%}{%- set with_reasoning.messages = with_reasoning.messages + "
        f"[{{'role': 'assistant', 'content': {content}, 'tool_calls': message['tool_calls']}}] -%}}"
        "{%- else -%}{%- set with_reasoning.messages = with_reasoning.messages + "
        f"[{{'role': 'assistant', 'content': {content}}}] -%}}{{%- endif -%}}"
        "{%- else -%}{%- set with_reasoning.messages = with_reasoning.messages + [message] -%}{%- endif -%}"
        "{%- endfor -%}{%- set messages = with_reasoning.messages -%}"
    )


def opens(prompt: str, opening: str) -> bool:
    """Whether a prompt ends with the tag that begins reasoning."""
    return prompt.rstrip().endswith(opening)


def describe(text: str, mode: str, render: Render) -> Thinking:
    """What `template.json` holds of reasoning: the `mode`, the template's `switch`, what reasoning stands
    between (`open`, `close`), what the answer after it begins with (`final`; None for nothing), and whether a
    prompt begins it: `opens` when nothing is asked, `opens_on` and `opens_off` when the request turns it on
    or off."""
    opening, closing = tags_of(text)
    switch = switch_of(text)

    def begun(variables: Mapping[str, object]) -> bool:
        return opens(render([{"role": "user", "content": "question"}], True, variables), opening)

    return {
        "mode": mode,
        "switch": switch,
        "open": opening,
        "close": closing,
        "final": channels.FINAL if channels.in_channels(text) else None,
        "opens": begun({}),
        "opens_on": begun({switch: True} if switch else {}),
        "opens_off": begun({switch: False} if switch else {}),
    }


def separated(content: str, opening: str, closing: str) -> tuple[str, str]:
    """The reasoning that an answer begins with, if it does, and the rest."""
    found = re.match(rf"\s*{re.escape(opening)}(.*?){re.escape(closing)}\s*", content, re.DOTALL)
    return (found[1].strip(), content[found.end() :]) if found else ("", content)


def _within(content: str, opening: str, closing: str) -> tuple[str, str]:
    """The reasoning that the content of a row begins with, in the model's own tags or in others."""
    if channels.OPENING in content:
        return channels.separated(content)
    for pair in dict.fromkeys(((opening, closing), *TAGS)):
        found, rest = separated(content, *pair)
        if found:
            return found, rest
    return "", content


def has_reasoning(message: Message) -> bool:
    """Whether a message of a row has reasoning."""
    if message["role"] != "assistant":
        return False
    return bool(message.get("reasoning_content")) or bool(_within(message["content"], *TAGS[0])[0])


def plain(described: Thinking | None, message: Message) -> Given:
    """A message as the template gets it: role and content, what it has of tools, and `reasoning_content`
    where it is learned.

    None is for templates of earlier versions and for models without conversations, which get contents as they
    are."""
    made = {"role": message["role"], "content": message["content"], **tools.fields_of(message)}
    if described is None or message["role"] != "assistant":
        return made
    within, made["content"] = _within(made["content"], described["open"], described["close"])
    reasoning = message.get("reasoning_content") or within
    if reasoning and described["mode"] == "learn":
        made["reasoning_content"] = reasoning
    return made


def without_reasoning(described: Thinking | None, answer: str, begun: bool) -> str:
    """A generated answer without its reasoning, which the prompt may have begun."""
    if described is None:
        return answer
    if described.get("final"):
        return channels.separated(answer)[1]
    opening, closing = described["open"], described["close"]
    if begun and not answer.lstrip().startswith(opening):
        answer = opening + answer
    if closing not in answer and answer.lstrip().startswith(opening):
        return ""
    return separated(answer, opening, closing)[1]


def without_switch(described: Thinking, prompt: str) -> str:
    """What follows a prompt for which reasoning is turned off, and whose template cannot do it."""
    final = described.get("final")
    if final:
        return "" if prompt.endswith(final) else final
    return f"\n{described['close']}\n\n" if opens(prompt, described["open"]) else ""


def decoder(tokenizer: PreTrainedTokenizerBase, described: Thinking | None) -> Callable[[list[int]], str]:
    """What makes text of the tokens of an answer: without control tokens, but with those that reasoning
    stands between."""
    tags = ""
    if described is not None:
        tags = described["open"] + described["close"] + (described.get("final") or "")
    special = {
        index: token.content for index, token in tokenizer.added_tokens_decoder.items() if token.special
    }
    hidden = {index for index, text in special.items() if text not in tags}
    if len(hidden) == len(special):
        return lambda tokens: tokenizer.decode(tokens, skip_special_tokens=True)
    return lambda tokens: tokenizer.decode([token for token in tokens if token not in hidden])
