"""Answers in channels, as gpt-oss writes them: reasoning in one, the answer in another.

An answer is a sequence of messages, `<|channel|>NAME<|message|>TEXT<|end|>`, with `<|start|>assistant` before
all but the first, which the prompt has begun. Templates get reasoning in a field of their own.
"""

from __future__ import annotations

import re

# What reasoning stands between, what the answer begins with, and the field of templates with the reasoning.
OPENING, CLOSING = "<|channel|>analysis<|message|>", "<|end|>"
FINAL = "<|channel|>final<|message|>"
FIELD = "thinking"
# The channel of reasoning.
_REASONING = "analysis"
_HEADER = re.compile(
    r"(?:<\|start\|>)?(?:assistant)?\s*<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
)
# A message that has no text yet.
_BEGUN = re.compile(r"(?:<\|start\|>)?(?:assistant)?(?:\s*<\|channel\|>.*)?", re.DOTALL)
# A message also ends where another begins.
_END = re.compile(r"<\|(?:end|return|call)\|>|(?<=[^>])(?<!assistant)(?=<\|channel\|>)")


def in_channels(text: str) -> bool:
    """Whether a template writes answers in channels."""
    return OPENING in text and FINAL in text


def separated(answer: str) -> tuple[str, str]:
    """The reasoning of an answer and the rest. Text outside of the channels is the rest's."""
    reasoning: list[str] = []
    content: list[str] = []
    for number, message in enumerate(_END.split(answer)):
        header = _HEADER.match(message)
        if header is None and (number or "<|channel|>" in message) and _BEGUN.fullmatch(message):
            continue
        text = message[header.end() :] if header else message
        if text:
            (reasoning if header and header[1] == _REASONING else content).append(text)
    return "\n".join(reasoning), "\n".join(content)


def renaming() -> str:
    """The head of a template that gives it the reasoning in its own field."""
    return (
        "{%- set with_reasoning = namespace(messages=[]) -%}{%- for message in messages -%}"
        "{%- if message['role'] == 'assistant' and message['reasoning_content'] "
        "and not message['tool_calls'] -%}"
        "{%- set with_reasoning.messages = with_reasoning.messages + [{'role': 'assistant', 'content': "
        f"message['content'], '{FIELD}': message['reasoning_content']}}] -%}}"
        "{%- else -%}{%- set with_reasoning.messages = with_reasoning.messages + [message] -%}{%- endif -%}"
        "{%- endfor -%}{%- set messages = with_reasoning.messages -%}"
    )


def answering_at_once(switch: str) -> str:
    """The end of a template whose prompt begins the answer unless `switch` is true."""
    return f"{{%- if add_generation_prompt and not {switch} -%}}{{{{ '{FINAL}' }}}}{{%- endif -%}}"
