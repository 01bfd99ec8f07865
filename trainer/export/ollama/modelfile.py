"""The Modelfile for Ollama, with the chat template of training."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from trainer.export.ollama.affixes import Affixes, NotExpressible, Render, find_affixes, kept

if TYPE_CHECKING:
    from trainer.data.template import Template

# What ends a text in a Modelfile or in its template language.
DELIMITERS = ("{{", "}}", '"""')


def go_template(affixes: Affixes) -> str:
    """The template in Ollama's Go syntax."""
    default = affixes.default and (
        f'{{{{ if and (eq $i 0) (ne $m.Role "system") }}}}{_literal(affixes.default)}{{{{ end }}}}'
    )
    branches, joint = [], _literal(affixes.joint or "")
    for role, (before, after) in affixes.around.items():
        text, content = _literal(before), "{{ $m.Content }}"
        if affixes.late and role == "system":
            text = content = ""
        elif affixes.late and role == "user":
            system = _literal(affixes.around["system"][0]) + "{{ $.System }}" + joint
            is_last = "and $.System (eq (len (slice $.Messages $i)) 1)"
            text = f"{{{{ if {is_last} }}}}{system}{{{{ else }}}}{text}{{{{ end }}}}"
        elif affixes.joint is not None and role == "user":
            text = f"{{{{ if $s }}}}{joint}{{{{ else }}}}{text}{{{{ end }}}}"
        branches.append(f'if eq $m.Role "{role}" }}}}{text}{content}{_literal(after)}')
    branches += [f'if eq $m.Role "{role}" }}}}' for role in affixes.dropped]
    # Go stops here with an error that quotes this. Without it, the message would be left out in silence.
    refusal = '{{ else }}{{ index "" "no such role in this template" }}{{ end }}'
    begin = follows = ""
    if affixes.joint is not None and not affixes.late:
        begin, follows = "{{ $s := false }}", '{{ $s = eq $m.Role "system" }}'
    each = f"{default}{{{{ {'{{ else '.join(branches)}{refusal}{follows}"
    return (
        f"{_literal(affixes.head)}{begin}{{{{ range $i, $m := .Messages }}}}{each}{{{{ end }}}}"
        f"{_literal(affixes.generation)}"
    )


def _literal(text: str) -> str:
    """Fixed text in a Go template in a Modelfile."""
    escaped = "|".join(map(re.escape, [*DELIMITERS, *_lost(text)]))

    def constant(found: re.Match[str]) -> str:
        letters = (letter if " " < letter < "\x7f" else f"\\U{ord(letter):08x}" for letter in found[0])
        return '{{ "' + "".join(letters).replace('"', '\\"') + '" }}'

    # A brace before the delimiter of what follows would be part of it.
    return re.sub(rf"\{{*(?:{escaped})+|\{{+\Z", constant, text)


def _lost(text: str) -> list[str]:
    """The letters of a text that Ollama does not read: those that Go does not call printable."""
    return sorted({letter for letter in text if not letter.isprintable() and letter not in "\n\r\t"})


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
        if adds_bos and template.bos_token:
            affixes = replace(affixes, head=affixes.head.removeprefix(template.bos_token))
        lines.append(f'TEMPLATE """{go_template(affixes)}"""')
    except NotExpressible as reason:
        lines += [
            f"# There is no TEMPLATE, because the model's own {reason}, which Ollama's language cannot say.",
            "# Ollama takes one of its own that resembles it, or the bare text of the messages: its prompts",
            "# differ from those of the training.",
        ]
    # The engine stops at the end token without them, too.
    lines += [f"PARAMETER stop {_stop(stop)}" for stop in template.stop if not _lost(stop)]
    # Ollama's own (1.1) makes a trained word less likely each time.
    lines.append("PARAMETER repeat_penalty 1")
    return "\n".join(lines) + "\n"
