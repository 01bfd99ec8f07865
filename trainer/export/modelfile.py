"""The Modelfile for Ollama, with the chat template of training."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trainer.protocol.failures import Failure

Render = Callable[[list[dict[str, str]], bool], str]


@dataclass(frozen=True)
class Affixes:
    """A chat template that only adds fixed text around each message."""

    head: str
    around: dict[str, tuple[str, str]]
    generation: str

    def render(self, messages: list[dict[str, str]], add_generation_prompt: bool) -> str:
        """The text that the original template renders."""
        body = "".join(
            self.around[message["role"]][0] + message["content"] + self.around[message["role"]][1]
            for message in messages
        )
        return self.head + body + (self.generation if add_generation_prompt else "")


def _say(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _cut(text: str, *contents: str) -> list[str]:
    pieces = []
    for content in contents:
        before, found, text = text.partition(content)
        if not found:
            raise ValueError(content)
        pieces.append(before)
    return [*pieces, text]


def find_affixes(render: Render) -> Affixes | None:
    """The fixed texts of a template, found by rendering it; None when it does more than add fixed text."""
    u, a, w, s = "uQ1u", "aQ2a", "wQ3w", "sQ4s"
    try:
        _, after_user = _cut(render([_say("user", u)], False), u)
        start, between, after_assistant = _cut(render([_say("user", u), _say("assistant", a)], False), u, a)
        _, _, again, _ = _cut(
            render([_say("user", u), _say("assistant", a), _say("user", w)], False), u, a, w
        )
        if not between.startswith(after_user) or not again.startswith(after_assistant):
            return None
        user = (again[len(after_assistant) :], after_user)
        if not start.endswith(user[0]):
            return None
        head = start[: len(start) - len(user[0])]
        around = {"user": user, "assistant": (between[len(after_user) :], after_assistant)}
        prompt, whole = render([_say("user", u)], True), render([_say("user", u)], False)
        if not prompt.startswith(whole):
            return None
        found = Affixes(head, around, prompt[len(whole) :])
        try:
            first, then, _ = _cut(render([_say("system", s), _say("user", u)], False), s, u)
            if first.startswith(head) and then.endswith(user[0]):
                around["system"] = (first[len(head) :], then[: len(then) - len(user[0])])
        except (Failure, ValueError):
            pass  # a template without a system role
        talks = [
            [_say("user", "one"), _say("assistant", "two"), _say("user", "three {x}")],
            [_say("user", "One?\nTwo!")],
        ]
        if "system" in around:
            talks.append([_say("system", "Be brief."), _say("user", "one"), _say("assistant", "two")])
        for talk in talks:
            for generation in (True, False):
                if talk[-1]["role"] == "assistant" and generation:
                    continue
                if found.render(talk, generation) != render(talk, generation):
                    return None
        return found
    except (Failure, ValueError):
        return None


def go_template(affixes: Affixes) -> str | None:
    """The template in Ollama's Go syntax, or None when it cannot express a fixed text."""
    texts = [affixes.head, affixes.generation, *(text for pair in affixes.around.values() for text in pair)]
    if any("{{" in text or "}}" in text or '"""' in text or text.endswith('"') for text in texts):
        return None
    branches = "".join(
        f'{{{{ {"if" if index == 0 else "else if"} eq .Role "{role}" }}}}{before}{{{{ .Content }}}}{after}'
        for index, (role, (before, after)) in enumerate(affixes.around.items())
    )
    return f"{affixes.head}{{{{ range .Messages }}}}{branches}{{{{ end }}}}{{{{ end }}}}{affixes.generation}"


def write(gguf_name: str, template: Any, render: Render, adds_bos: bool) -> str:
    """The text of a Modelfile for `gguf_name` in the same folder.

    `template` has `stop` and `bos_token`. With `adds_bos` the engine adds the beginning-of-text token, so the
    template must not.
    """
    lines = [f"FROM ./{gguf_name}"]
    affixes = find_affixes(render)
    if affixes is not None and adds_bos and template.bos_token:
        affixes = Affixes(affixes.head.removeprefix(template.bos_token), affixes.around, affixes.generation)
    go = go_template(affixes) if affixes is not None else None
    if go is None:
        lines.append("# The model's own template is inside the GGUF; Ollama reads it from there.")
    else:
        lines.append(f'TEMPLATE """{go}"""')
    lines += [f"PARAMETER stop {json.dumps(stop, ensure_ascii=False)}" for stop in template.stop]
    return "\n".join(lines) + "\n"
