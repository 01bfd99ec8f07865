"""Chat templates that read a message's content as a list of parts, as those of multimodal models do.

Given a text, some of them leave it out without a word. Rows have texts, so such a template gets a beginning
that makes each of them a list of one part; every program that renders the template then does the same.
"""

from __future__ import annotations

from collections.abc import Callable

from trainer.protocol.failures import Failure

BEGINNING = (
    "{%- set parts = namespace(messages=[]) -%}"
    "{%- for message in messages -%}"
    "{%- set content = message['content'] -%}"
    "{%- if content is string -%}{%- set content = [{'type': 'text', 'text': content}] -%}{%- endif -%}"
    "{%- if message['tool_calls'] -%}"
    "{%- set made = {'role': message['role'], 'content': content, 'tool_calls': message['tool_calls'], "
    "'reasoning_content': message['reasoning_content']} -%}"
    "{%- elif message['role'] == 'tool' -%}"
    "{%- set made = {'role': 'tool', 'content': content, 'tool_call_id': message['tool_call_id'], "
    "'name': message['name']} -%}"
    "{%- else -%}"
    "{%- set made = {'role': message['role'], 'content': content, "
    "'reasoning_content': message['reasoning_content']} -%}"
    "{%- endif -%}"
    "{%- set parts.messages = parts.messages + [made] -%}"
    "{%- endfor -%}"
    "{%- set messages = parts.messages -%}"
)
# Texts that no template contains.
TALK = [{"role": "user", "content": "uQ1u"}, {"role": "assistant", "content": "aQ2a"}]


def reading_texts(chat_template: str, render: Callable[[str, list[dict[str, str]]], str]) -> str:
    """`chat_template`, with the beginning if it shows texts only with it. `render(template, messages)` may
    raise Failure."""

    def shows(text: str) -> bool:
        try:
            rendered = render(text, TALK)
        except Failure:
            return False
        return all(message["content"] in rendered for message in TALK)

    started = BEGINNING + chat_template
    return started if not shows(chat_template) and shows(started) else chat_template
