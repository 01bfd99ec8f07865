"""The fixed texts that a chat template puts around messages, found by rendering it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from trainer.data.template import common_length
from trainer.protocol.failures import Failure

Render = Callable[[list[dict[str, Any]], bool], str]


class NotExpressible(ValueError):
    """A chat template that Ollama's Go templates cannot express; the text says why."""


@dataclass(frozen=True)
class Affixes:
    """A chat template that only adds fixed text around each message.

    `default` is what a conversation begins with that has no system message: templates with a default one.
    `joint` is the text between a system message and the user's message that it begins, None where that is
    the end of one and the start of the other. With `late` it begins the last message instead of the first. Of
    a role that is in neither `around` nor `dropped`, the template makes an error.
    """

    head: str
    default: str
    around: dict[str, tuple[str, str]]
    generation: str
    joint: str | None = None
    dropped: tuple[str, ...] = ()
    late: bool = False

    def render(self, messages: list[dict[str, Any]]) -> str:
        """The prompt that the Go template makes."""
        texts = [self.message(messages, number) for number in range(len(messages))]
        return self.opening(messages) + "".join(texts) + self.generation

    def opening(self, messages: list[dict[str, Any]]) -> str:
        """What stands before the first message."""
        return self.head if messages[0]["role"] == "system" else self.head + self.default

    def message(self, messages: list[dict[str, Any]], number: int) -> str:
        """The text of one of the messages."""
        message = messages[number]
        before, after = self.around[message["role"]]
        if self.late and message["role"] == "system":
            return ""
        system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
        follows = number > 0 and messages[number - 1]["role"] == "system"
        if self.late and system and number == len(messages) - 1:
            before = self.around["system"][0] + system + (self.joint or "")
        elif self.joint is not None and not self.late and follows and message["role"] == "user":
            before = self.joint
        return before + message["content"] + after


def _say(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def cut(text: str, *contents: str) -> list[str]:
    """The pieces of `text` around `contents`."""
    pieces = []
    for content in contents:
        before, found, text = text.partition(content)
        if not found:
            raise NotExpressible("changes the messages or leaves one out")
        pieces.append(before)
    return [*pieces, text]


def find_affixes(render: Render, bos: str = "") -> Affixes:
    """The fixed texts of a template, found by rendering it; `bos` is the beginning-of-text token.

    Ollama asks for nothing but prompts, so these alone count: many templates write the last answer otherwise.
    NotExpressible when it does more than add fixed text, or differs from what was found on other
    conversations."""
    try:
        found = _affixes(render, bos)
        for way in (found, replace(found, late=True)) if found.joint is not None else (found,):
            if all(way.render(talk) == render(talk, True) for talk in _talks("system" in found.around)):
                return way
        raise NotExpressible("does more than put fixed text around messages")
    except Failure as failure:
        raise NotExpressible("accepts no plain conversation") from failure


def _affixes(render: Render, bos: str) -> Affixes:
    u, a, w, s = "uQ1u", "aQ2a", "wQ3w", "sQ4s"
    prompt = render([_say("user", u), _say("assistant", a), _say("user", w)], True)
    first, answered, again, last = cut(prompt, u, a, w)
    # Where a message ends and the next begins does not matter to prompts. It is as without a prompt, if that
    # fits.
    ended = _after(render, _say("user", u))
    if ended is None or not (answered.startswith(ended) and last.startswith(ended)):
        ended = answered[: common_length(answered, last)]
    start = bos if first.startswith(bos) else ""
    closed = _after(render, _say("user", u), _say("assistant", a))
    begun = again.removeprefix(closed or "")
    if closed is None or not (again.startswith(closed) and first.endswith(begun)):
        shared = common_length(first.removeprefix(start)[::-1], again[::-1])
        begun = again[len(again) - shared :]
    head, default, joint = first.removesuffix(begun), "", None
    around = {
        "user": (begun, ended),
        "assistant": (answered.removeprefix(ended), again.removesuffix(begun)),
    }
    try:
        with_system = render([_say("system", s), _say("user", u)], True)
    except Failure:
        return Affixes(head, default, around, last.removeprefix(ended))
    if s not in with_system:
        return Affixes(head, default, around, last.removeprefix(ended), dropped=("system",))
    before, between, _ = cut(with_system, s, u)
    after = between.removesuffix(begun)
    if not between.endswith(begun):
        after, joint = "", between
    if not before.startswith(head):
        shorter = start if before.startswith(start) else ""
        head, default = shorter, head.removeprefix(shorter)
    around["system"] = (before.removeprefix(head), after)
    return Affixes(head, default, around, last.removeprefix(ended), joint)


def _after(render: Render, *messages: dict[str, str]) -> str | None:
    """What stands behind the last of `messages` where no answer is asked for, if the template allows that."""
    try:
        return render(list(messages), False).rpartition(messages[-1]["content"])[2]
    except Failure:
        return None


def _talks(with_system: bool) -> list[list[dict[str, str]]]:
    """Conversations that the affixes must render as the template does."""
    short = [_say("user", "One?\nTwo!")]
    long = [_say("user", "one"), _say("assistant", "two"), _say("user", "three {x}")]
    longer = [*long, _say("assistant", "four\n\nfive"), _say("user", "six")]
    talks = [short, long, longer]
    return [*talks, *([_say("system", "Be\nbrief."), *talk] for talk in talks if with_system)]


def kept(render: Render, affixes: Affixes, thinking: tuple[str, str]) -> list[str]:
    """What the template leaves out of messages and `affixes` do not, as words for the user.

    `thinking` are the tags around reasoning.
    """
    reasoned = f"{thinking[0]}\ntwo\n{thinking[1]}\n\nthree"
    parts = (
        ("White space around a message", [_say("user", " one \n")]),
        (
            "Reasoning in an earlier answer",
            [_say("user", "one"), _say("assistant", reasoned), _say("user", "four")],
        ),
    )

    def differs(talk: list[dict[str, str]]) -> bool:
        try:
            return affixes.render(talk) != render(talk, True)
        except Failure:
            # A template may refuse such a message; then nothing is left out.
            return False

    return [words for words, talk in parts if differs(talk)]
