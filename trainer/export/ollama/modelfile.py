"""The Modelfile for Ollama, with the chat template of training."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from trainer.export.ollama.affixes import Affixes, NotExpressible, Render, find_affixes, kept
from trainer.export.ollama.go_template import go_template, lost
from trainer.export.ollama.tool_affixes import ToolAffixes, find_tool_affixes

if TYPE_CHECKING:
    from trainer.data.template import Template


def _stop(text: str) -> str:
    """A value of `PARAMETER stop`, which Ollama takes as it stands between the quotes."""
    return f'"""{text}"""' if '"' in text else f'"{text}"'


def write(gguf: str, template: Template, render: Render, adds_bos: bool, adapter: str | None = None) -> str:
    """The text of a Modelfile for the file `gguf`, with the adapter in the file `adapter`. The names of files
    in the same folder begin with `./`. With `adds_bos` the engine adds the beginning-of-text token, so the
    template must not.
    """
    lines = [f"FROM {gguf}", *([f"ADAPTER {adapter}"] if adapter else [])]
    try:
        affixes = find_affixes(render, template.bos_token or "")
        described = template.thinking
        tags = (described["open"], described["close"]) if described else ("<think>", "</think>")
        lines += [
            f"# {words} stays in the prompt; the model's own template leaves it out."
            for words in kept(render, affixes, tags)
        ]
        tools = _tools(template, render, affixes, lines)
        if adds_bos and template.bos_token:
            affixes = replace(affixes, head=affixes.head.removeprefix(template.bos_token))
        lines.append(f'TEMPLATE """{go_template(affixes, tools)}"""')
    except NotExpressible as reason:
        lines += [
            f"# There is no TEMPLATE, because the model's own {reason}, which Ollama's language cannot say.",
            "# Ollama takes one of its own that resembles it, or the bare text of the messages: its prompts",
            "# differ from those of the training.",
        ]
    # The engine stops at the end token without them, too.
    lines += [f"PARAMETER stop {_stop(stop)}" for stop in template.stop if not lost(stop)]
    # Ollama's own (1.1) makes a trained word less likely each time.
    lines.append("PARAMETER repeat_penalty 1")
    return "\n".join(lines) + "\n"


def _tools(template: Template, render: Render, affixes: Affixes, lines: list[str]) -> ToolAffixes | None:
    """How the template writes tools, if it does and Ollama can; comments about it are added to `lines`."""
    if template.tools is None or not template.tools["tools"] or not template.tools["calls"]:
        return None
    try:
        tools = find_tool_affixes(render, affixes)
    except NotExpressible as reason:
        lines += [
            f"# TEMPLATE has no tools, because the model's own {reason}, which Ollama's language",
            "# cannot say.",
        ]
        return None
    lines += [
        "# Ollama sorts the properties of tools and the arguments of calls by name, and drops keys of tools",
        "# that it does not know, such as `default`: only then do prompts differ from those of the training.",
    ]
    return tools
