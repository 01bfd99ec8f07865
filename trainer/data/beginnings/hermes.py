"""Tools in the syntax of Hermes, for chat templates that have none of their own.

Such a template gets a beginning that makes texts of tools, calls and results. Conversations without them are
rendered as before.
"""

from __future__ import annotations

from trainer.data.thinking import Render
from trainer.protocol.failures import Failure

# By this the service knows the syntax (`src/inference/template/tool-styles.ts`).
MARK = "{#- Tools in the syntax of Hermes -#}"
OFFER = "# Functions\\n\\nThese functions can be called. Each is described in JSON:\\n<tools>"
MANNER = (
    "\\n</tools>\\n\\nTo call one, write its name and arguments as JSON between tags, one pair of tags for "
    'each call:\\n<tool_call>\\n{"name": NAME, "arguments": ARGUMENTS}\\n</tool_call>'
)
# Tools end the system message, or begin the first message of the user.
PLACES = {
    "system": (
        "{%- if messages[0]['role'] == 'system' -%}"
        "{%- set hermes.first = messages[0]['content'] + '\\n\\n' + hermes.text -%}"
        "{%- else -%}{%- set hermes.messages = [{'role': 'system', 'content': hermes.text}] -%}{%- endif -%}"
    ),
    "user": (
        "{%- if messages[0]['role'] == 'user' -%}"
        "{%- set hermes.first = hermes.text + '\\n\\n' + messages[0]['content'] -%}{%- endif -%}"
    ),
}
BEGINNING = (
    MARK + "{%- set hermes = namespace(messages=[], first=none, text='') -%}"
    "{%- if tools -%}"
    "{%- set hermes.text = '" + OFFER + "' -%}"
    "{%- for tool in tools -%}{%- set hermes.text = hermes.text + '\\n' + (tool | tojson) -%}{%- endfor -%}"
    "{%- set hermes.text = hermes.text + '" + MANNER + "' -%}"
    "PLACE{%- set hermes.text = '' -%}{%- set tools = none -%}"
    "{%- endif -%}"
    "{%- for message in messages -%}"
    "{%- if loop.first and hermes.first -%}"
    "{%- set made = {'role': message['role'], 'content': hermes.first} -%}"
    "{%- elif message['role'] == 'tool' -%}"
    "{%- set hermes.text = hermes.text + ('\\n' if hermes.text else '') "
    "+ '<tool_response>\\n' + message['content'] + '\\n</tool_response>' -%}"
    "{%- set made = {'role': 'user', 'content': hermes.text} -%}"
    "{%- if not loop.last and messages[loop.index0 + 1]['role'] == 'tool' -%}"
    "{%- set made = none -%}{%- else -%}{%- set hermes.text = '' -%}{%- endif -%}"
    "{%- elif message['tool_calls'] -%}"
    "{%- set hermes.text = message['content'] if message['content'] else '' -%}"
    "{%- for call in message['tool_calls'] -%}"
    "{%- set given = call['function']['arguments'] -%}"
    "{%- set hermes.text = hermes.text + ('\\n' if hermes.text else '') "
    "+ '<tool_call>\\n{\"name\": ' + (call['function']['name'] | tojson) + ', \"arguments\": ' "
    "+ (given if given is string else (given | tojson)) + '}\\n</tool_call>' -%}"
    "{%- endfor -%}"
    "{%- set made = {'role': 'assistant', 'content': hermes.text, "
    "'reasoning_content': message['reasoning_content']} -%}"
    "{%- set hermes.text = '' -%}"
    "{%- else -%}{%- set made = message -%}{%- endif -%}"
    "{%- if made -%}{%- set hermes.messages = hermes.messages + [made] -%}{%- endif -%}"
    "{%- endfor -%}"
    "{%- set messages = hermes.messages -%}"
)


def with_hermes(text: str, render: Render) -> str:
    """The chat template `text` with the beginning; `render` renders with it as it is."""
    if MARK in text:
        return text
    instruction = "sQ4s"
    try:
        talk = [{"role": "system", "content": instruction}, {"role": "user", "content": "question"}]
        place = "system" if instruction in render(talk, True) else "user"
    except Failure:
        place = "user"
    return BEGINNING.replace("PLACE", PLACES[place]) + text
