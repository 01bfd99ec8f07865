"""A chat template in Ollama's language, Go's templates."""

from __future__ import annotations

import re

from trainer.data.template import common_length
from trainer.export.ollama import tool_affixes as marks
from trainer.export.ollama.affixes import Affixes
from trainer.export.ollama.tool_affixes import Layout, ToolAffixes

# What ends a text in a Modelfile or in its template language.
DELIMITERS = ("{{", "}}", '"""')

# A brace that what follows does not join.
OPEN = '{{ "{" }}'

# Go stops here with an error that quotes this. Without it, the message would be left out in silence.
REFUSAL = '{{ index "" "no such role in this template" }}'


def go_template(affixes: Affixes, tools: ToolAffixes | None = None) -> str:
    """The template in Ollama's Go syntax, with `tools` if it has them."""
    # Where tools are offered before the first message, their text replaces what stands there without them.
    replaces = tools is not None and not tools.at_last
    unless = " (not $.Tools)" if replaces else ""
    default = affixes.default and (
        f'{{{{ if and (eq $i 0) (ne $m.Role "system"){unless} }}}}{literal(affixes.default)}{{{{ end }}}}'
    )
    branches = [
        f'if eq $m.Role "{role}" }}}}{_message(affixes, tools, role, replaces)}' for role in affixes.around
    ]
    if tools is not None:
        branches.append(f'if eq $m.Role "tool" }}}}{_result(tools)}')
    branches += [f'if eq $m.Role "{role}" }}}}' for role in affixes.dropped]
    begin = follows = ended = ""
    if affixes.joint is not None and not affixes.late:
        begin, follows = "{{ $s := false }}", '{{ $s = eq $m.Role "system" }}'
    if tools is not None:
        begin += _place(tools)
        if tools.closing or tools.between != tools.opening:
            closing = literal(tools.closing)
            begin += "{{ $r := false }}"
            default = f'{{{{ if and $r (ne $m.Role "tool") }}}}{closing}{{{{ end }}}}{default}'
            follows += '{{ $r = eq $m.Role "tool" }}'
            ended = f"{{{{ if $r }}}}{closing}{{{{ end }}}}"
    each = f"{default}{{{{ {'{{ else '.join(branches)}{{{{ else }}}}{REFUSAL}{{{{ end }}}}{follows}"
    return (
        f"{_definitions(tools) if tools else ''}{literal(affixes.head)}{begin}"
        f"{{{{ range $i, $m := .Messages }}}}{each}{{{{ end }}}}{ended}{literal(affixes.generation)}"
    )


def _message(affixes: Affixes, tools: ToolAffixes | None, role: str, replaces: bool) -> str:
    """A message of a role, without the results of tools."""
    before, after = affixes.around[role]
    text, content, joint = literal(before), "{{ $m.Content }}", literal(affixes.joint or "")
    if affixes.late and role == "system":
        return literal(after)
    if affixes.late and role == "user":
        system = literal(affixes.around["system"][0]) + "{{ $.System }}" + joint
        is_last = "and $.System (eq (len (slice $.Messages $i)) 1)"
        text = f"{{{{ if {is_last} }}}}{system}{{{{ else }}}}{text}{{{{ end }}}}"
    elif affixes.joint is not None and role == "user":
        text = f"{{{{ if $s }}}}{joint}{{{{ else }}}}{text}{{{{ end }}}}"
    if tools is not None and role == "user":
        text = f"{{{{ if and $.Tools (eq $i $at) }}}}{_offer(tools)}{{{{ else }}}}{text}{{{{ end }}}}"
    whole = f"{text}{content}{literal(after)}"
    if replaces and role == "system":
        return f"{{{{ if or $i (not $.Tools) }}}}{whole}{{{{ end }}}}"
    if tools is not None and role == "assistant":
        return _calls(tools, whole)
    return whole


def _place(tools: ToolAffixes) -> str:
    """Finds `$at`, the number of the user's message that tools are offered before."""
    is_it = 'eq .Role "user"' if tools.at_last else 'and (eq .Role "user") (lt $at 0)'
    each = f"{{{{ if {is_it} }}}}{{{{ $at = $i }}}}{{{{ end }}}}"
    return f"{{{{ $at := -1 }}}}{{{{ range $i, $m := .Messages }}}}{each}{{{{ end }}}}"


def _offer(tools: ToolAffixes) -> str:
    """The text with the offered tools."""
    values = {
        marks.TOOLS: '{{ template "tools" $.Tools }}',
        marks.SYSTEM: "{{ (index $.Messages 0).Content }}",
    }
    has_system = 'eq (index $.Messages 0).Role "system"'
    if tools.plain.late:
        values[marks.SYSTEM] = "{{ $.System }}"
        has_system = "and $.System (eq (len (slice $.Messages $i)) 1)"
    one, other = tools.offered, tools.offered_alone
    start = common_length(one, other)
    end = common_length(one[start:][::-1], other[start:][::-1])
    shared = one[len(one) - end :]
    different = [_filled(text[start : len(text) - end], values) for text in (one, other)]
    otherwise = f"{{{{ else }}}}{different[1]}" if different[1] else ""
    choice = f"{{{{ if {has_system} }}}}{different[0]}{otherwise}{{{{ end }}}}"
    return f"{_filled(one[:start], values)}{choice if any(different) else ''}{_filled(shared, values)}"


def _calls(tools: ToolAffixes, plain: str) -> str:
    """A message of the assistant, which is `plain` where it has no calls.

    Ollama takes the first text behind the condition `.ToolCalls` for what a call begins with.
    """
    begin = literal(tools.bare)
    if tools.beside is not None:
        beside = _filled(tools.beside, {marks.CONTENT: "{{ $m.Content }}"})
        begin = f"{{{{ if $m.Content }}}}{beside}{{{{ else }}}}{begin}{{{{ end }}}}"
    values = {
        marks.NAME: "{{ $c.Function.Name }}",
        marks.ARGUMENTS: '{{ template "value" $c.Function.Arguments }}',
        marks.ID: "{{ $c.ID }}",
    }
    between = literal(tools.between_calls)
    if between:
        between = f"{{{{ if gt (len (slice $m.ToolCalls $k)) 1 }}}}{between}{{{{ end }}}}"
    each = f"{{{{ range $k, $c := .ToolCalls }}}}{_filled(tools.call, values)}{between}{{{{ end }}}}"
    calls = (
        f"{{{{ if .ToolCalls }}}}{literal(tools.calls_begin)}{each}{literal(tools.calls_end)}{{{{ end }}}}"
    )
    return f"{{{{ if $m.ToolCalls }}}}{begin}{{{{ else }}}}{plain}{{{{ end }}}}{calls}"


def _result(tools: ToolAffixes) -> str:
    """A result of a tool."""
    content = '{{ printf "%q" $m.Content }}' if tools.is_json_result else "{{ $m.Content }}"
    values = {marks.ID: "{{ $m.ToolCallID }}", marks.NAME: "{{ $m.ToolName }}"}
    opening, between, behind = (
        _filled(text, values) for text in (tools.opening, tools.between, tools.behind)
    )
    if between != opening:
        opening = f"{{{{ if $r }}}}{between}{{{{ else }}}}{opening}{{{{ end }}}}"
    return f"{opening}{content}{behind}"


def _definitions(tools: ToolAffixes) -> str:
    """Templates of a value of JSON, and of offered tools."""
    return _value(tools.arguments) + _tools(tools)


def _value(layout: Layout) -> str:
    each = f'{{{{ printf "%q" $k }}}}{layout.colon}{{{{ template "value" $v }}}}'
    objects = (
        f'{OPEN}{{{{ $comma := "" }}}}{{{{ range $k, $v := . }}}}{{{{ $comma }}}}'
        f'{{{{ $comma = "{layout.comma}" }}}}{each}{{{{ end }}}}}}'
    )
    lists = (
        f"[{{{{ range $i, $v := . }}}}{{{{ if $i }}}}{layout.comma}{{{{ end }}}}"
        '{{ template "value" $v }}{{ end }}]'
    )
    # `json` would write < as an escape.
    return (
        '{{ define "value" }}{{ $begin := slice (json .) 0 1 }}{{ if eq $begin "\\"" }}{{ printf "%q" . }}'
        f'{{{{ else if eq $begin "[" }}}}{lists}{{{{ else if eq $begin "{{" }}}}{objects}'
        "{{ else }}{{ json . }}{{ end }}{{ end }}"
    )


def _tools(tools: ToolAffixes) -> str:
    """The offered tools as JSON, with the keys in the usual order."""
    layout, colon = tools.layout, tools.layout.colon
    outer = 0 if tools.is_whole else -1

    def line(level: int) -> str:
        return "" if layout.indent is None else "\n" + " " * (layout.indent * (level + outer))

    def member(name: str, value: str, level: int, condition: str = "", first: bool = False) -> str:
        text = ("" if first else layout.comma) + line(level) + f'"{name}"{colon}' + value
        return f"{{{{ if {condition} }}}}{text}{{{{ end }}}}" if condition else text

    def items(of: str, value: str, level: int) -> str:
        """The values of a list or object, each on a line if there are lines."""
        begin, comma = (text.replace("\n", "\\n") for text in (line(level), layout.comma + line(level)))
        closed = f"{{{{ if {of} }}}}{line(level - 1)}{{{{ end }}}}" if layout.indent else ""
        each = f'{{{{ $comma }}}}{{{{ $comma = "{comma}" }}}}{value}'
        return f'{{{{ $comma := "{begin}" }}}}{{{{ range $k, $v := {of} }}}}{each}{{{{ end }}}}{closed}'

    enum = "[" + items("$p.Enum", '{{ template "value" $v }}', 6) + "]"
    simple = (
        OPEN
        + member("type", "{{ json $p.Type }}", 5, first=True)
        + member("items", '{{ template "value" $p.Items }}', 5, "$p.Items")
        + member("enum", enum, 5, "$p.Enum")
        + member("description", '{{ printf "%q" $p.Description }}', 5, "$p.Description")
        + line(4)
        + "}"
    )
    # What has further keys is written as Ollama does.
    is_other = 'or $p.AnyOf (not $p.Type) (eq (print $p.Type) "object")'
    each = (
        '{{ printf "%q" $k }}'
        + colon
        + f"{{{{ $p := $v }}}}{{{{ if {is_other} }}}}{{{{ json $p }}}}{{{{ else }}}}{simple}{{{{ end }}}}"
    )
    required = "[" + items(".Parameters.Required", '{{ printf "%q" $v }}', 4) + "]"
    parameters = (
        OPEN
        + member("type", '{{ printf "%q" .Parameters.Type }}', 3, first=True)
        + member("properties", OPEN + items(".Parameters.Properties", each, 4) + "}", 3)
        + member("required", required, 3, ".Parameters.Required")
        + line(2)
        + "}"
    )
    function = (
        OPEN
        + member("name", '{{ printf "%q" .Name }}', 2, first=True)
        + member("description", '{{ printf "%q" .Description }}', 2, ".Description")
        + member("parameters", parameters, 2, ".Parameters.Type")
        + line(1)
        + "}"
    )
    tool = function
    if tools.is_whole:
        tool = (
            OPEN
            + member("type", '"function"', 1, first=True)
            + member("function", function, 1)
            + line(0)
            + "}"
        )
    between = literal(tools.between_tools)
    return (
        f'{{{{ define "tools" }}}}{{{{ range $n, $tool := . }}}}{{{{ if $n }}}}{between}{{{{ end }}}}'
        f"{{{{ with .Function }}}}{tool}{{{{ end }}}}{{{{ end }}}}{{{{ end }}}}"
    )


def _filled(text: str, values: dict[str, str]) -> str:
    """A text with the actions of `values` for its marks."""
    pieces = re.split(f"([{''.join(values)}])", text)
    return "".join(values[piece] if piece in values else literal(piece) for piece in pieces)


def literal(text: str) -> str:
    """Fixed text in a Go template in a Modelfile."""
    escaped = "|".join(map(re.escape, [*DELIMITERS, *lost(text)]))

    def constant(found: re.Match[str]) -> str:
        letters = (letter if " " < letter < "\x7f" else f"\\U{ord(letter):08x}" for letter in found[0])
        return '{{ "' + "".join(letters).replace('"', '\\"') + '" }}'

    # A brace before the delimiter of what follows would be part of it.
    return re.sub(rf"\{{*(?:{escaped})+|\{{+\Z", constant, text)


def lost(text: str) -> list[str]:
    """The letters of a text that Ollama does not read: those that Go does not call printable."""
    return sorted({letter for letter in text if not letter.isprintable() and letter not in "\n\r\t"})
