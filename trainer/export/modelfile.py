"""The Modelfile for Ollama, with the chat template of training."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.data.template import Template

Render = Callable[[list[dict[str, str]], bool], str]


class NotExpressible(ValueError):
    """A chat template that Ollama's Go templates cannot express; the text says why."""


@dataclass(frozen=True)
class Affixes:
    """A chat template that only adds fixed text around each message.

    `default` is what a conversation begins with that has no system message: templates with a default one.
    """

    head: str
    default: str
    around: dict[str, tuple[str, str]]
    generation: str

    def render(self, messages: list[dict[str, str]], add_generation_prompt: bool) -> str:
        """The text that the original template renders."""
        body = "".join(
            self.around[message["role"]][0] + message["content"] + self.around[message["role"]][1]
            for message in messages
        )
        start = self.head if messages[0]["role"] == "system" else self.head + self.default
        return start + body + (self.generation if add_generation_prompt else "")


def _say(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _cut(text: str, *contents: str) -> list[str]:
    pieces = []
    for content in contents:
        before, found, text = text.partition(content)
        if not found:
            raise NotExpressible("changes the messages or leaves one out")
        pieces.append(before)
    return [*pieces, text]


def find_affixes(render: Render, bos: str = "") -> Affixes:
    """The fixed texts of a template, found by rendering it; `bos` is the beginning-of-text token.

    NotExpressible when it does more than add fixed text, or differs from what was found on other
    conversations."""
    try:
        found = _affixes(render, bos)
        for talk in _talks("system" in found.around):
            for generation in (True, False):
                if talk[-1]["role"] == "assistant" and generation:
                    continue
                if found.render(talk, generation) != render(talk, generation):
                    raise NotExpressible("does more than put fixed text around messages")
        return found
    except Failure as failure:
        raise NotExpressible("accepts no plain conversation") from failure


def _affixes(render: Render, bos: str) -> Affixes:
    u, a, w, s = "uQ1u", "aQ2a", "wQ3w", "sQ4s"
    _, after_user = _cut(render([_say("user", u)], False), u)
    start, between, after_assistant = _cut(render([_say("user", u), _say("assistant", a)], False), u, a)
    _, _, again, _ = _cut(render([_say("user", u), _say("assistant", a), _say("user", w)], False), u, a, w)
    prompt, whole = render([_say("user", u)], True), render([_say("user", u)], False)
    user = (again[len(after_assistant) :], after_user)
    if not (
        between.startswith(after_user)
        and again.startswith(after_assistant)
        and start.endswith(user[0])
        and prompt.startswith(whole)
    ):
        raise NotExpressible("writes a message differently by what is around it")
    around = {"user": user, "assistant": (between[len(after_user) :], after_assistant)}
    head, default = start[: len(start) - len(user[0])], ""
    try:
        with_system = render([_say("system", s), _say("user", u)], False)
    except Failure:
        with_system = ""  # a template without a system role
    if s in with_system:
        first, then, _ = _cut(with_system, s, u)
        if not then.endswith(user[0]):
            raise NotExpressible("puts the system message into the user's")
        shared = head
        if not first.startswith(head):
            shared = bos if first.startswith(bos) and head.startswith(bos) else ""
            head, default = shared, head.removeprefix(shared)
        around["system"] = (first.removeprefix(shared), then[: len(then) - len(user[0])])
    return Affixes(head, default, around, prompt[len(whole) :])


def _talks(with_system: bool) -> list[list[dict[str, str]]]:
    """Conversations that the affixes must render as the template does."""
    talks = [
        [_say("user", "one"), _say("assistant", "two"), _say("user", "three {x}")],
        [_say("user", "One?\nTwo!")],
    ]
    if with_system:
        talks.append([_say("system", "Be brief."), _say("user", "one"), _say("assistant", "two")])
        talks.append([_say("system", "one\ntwo"), *talks[0]])
    return talks


def go_template(affixes: Affixes) -> str:
    """The template in Ollama's Go syntax; NotExpressible when it cannot express a fixed text."""
    pairs = [text for pair in affixes.around.values() for text in pair]
    for text in (affixes.head, affixes.default, affixes.generation, *pairs):
        if "{{" in text or "}}" in text or '"""' in text or text.endswith('"'):
            raise NotExpressible("has text that means something in a Modelfile")
    branches = "{{ else ".join(
        f'if eq $m.Role "{role}" }}}}{before}{{{{ $m.Content }}}}{after}'
        for role, (before, after) in affixes.around.items()
    )
    default = affixes.default and (
        f'{{{{ if and (eq $i 0) (ne $m.Role "system") }}}}{affixes.default}{{{{ end }}}}'
    )
    each = f"{{{{ range $i, $m := .Messages }}}}{default}{{{{ {branches}{{{{ end }}}}{{{{ end }}}}"
    return f"{affixes.head}{each}{affixes.generation}"


def write(gguf: str, template: Template, render: Render, adds_bos: bool, adapter: str | None = None) -> str:
    """The text of a Modelfile for the file `gguf`, with the adapter in the file `adapter`. The names of files
    in the same folder begin with `./`.

    `template` has `stop` and `bos_token`. With `adds_bos` the engine adds the beginning-of-text token, so the
    template must not.
    """
    lines = [f"FROM {gguf}", *([f"ADAPTER {adapter}"] if adapter else [])]
    try:
        affixes = find_affixes(render, template.bos_token or "")
        if adds_bos and template.bos_token:
            affixes = replace(affixes, head=affixes.head.removeprefix(template.bos_token))
        lines.append(f'TEMPLATE """{go_template(affixes)}"""')
    except NotExpressible as reason:
        lines += [
            f"# There is no TEMPLATE, because the model's own {reason}, which Ollama's language cannot say.",
            "# Ollama takes the template inside the GGUF, or one of its own that resembles it: its prompts",
            "# may differ from those of the training.",
        ]
    lines += [f"PARAMETER stop {json.dumps(stop, ensure_ascii=False)}" for stop in template.stop]
    return "\n".join(lines) + "\n"
