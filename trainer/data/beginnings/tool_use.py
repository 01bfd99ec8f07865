"""Tokenizers with a chat template of its own for tools (`tool_use`)."""

from __future__ import annotations

BEGINNING = (
    "{%- set uses = namespace(tools=tools is defined and tools) -%}"
    "{%- for message in messages -%}{%- if message['role'] == 'tool' or message['tool_calls'] -%}"
    "{%- set uses.tools = true -%}{%- endif -%}{%- endfor -%}"
)


def with_tool_use(text: str, tool_use: str) -> str:
    """One chat template: `tool_use` for conversations with tools, calls or results, else `text`."""
    # A template's last line break is dropped, and white space beside blocks.
    one, other = ("{{ '' }}" + each.removesuffix("\n") + "{{ '' }}" for each in (tool_use, text))
    # Such a template is rarely written for conversations with calls and without tools.
    none = "{%- if tools is not defined -%}{%- set tools = [] -%}{%- endif -%}"
    return f"{BEGINNING}{{%- if uses.tools -%}}{none}{one}{{%- else -%}}{other}{{%- endif -%}}"
