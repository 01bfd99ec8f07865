"""The Modelfile says in Ollama's language what the chat template says."""

import pytest

from trainer.data.template import HONE_TEMPLATE, Template, render
from trainer.export.ollama import affixes, modelfile
from trainer.tests import tiny

LOOP = "{% for m in messages %}"
END = "{% endfor %}{% if add_generation_prompt %}<ass>{% endif %}"
# An answer and the end of the text are written otherwise where no further answer is asked for.
ENDING = (
    LOOP + "<{{ m.role[:3] }}>{{ '~' if loop.last and m.role == 'assistant' }}{{ m.content }}</>{% endfor %}"
    "{{ '<ass>' if add_generation_prompt else eos_token }}"
)
# The system message begins the first message of the user.
BEGINS_FIRST = (
    LOOP + "{% if m.role == 'user' %}[U]{% if loop.index0 == 1 and messages[0].role == 'system' %}"
    "<<{{ messages[0].content }}>>{% endif %}{{ m.content }}[/U]"
    "{% elif m.role == 'assistant' %}{{ m.content }};{% endif %}{% endfor %}"
)
# … or the last.
BEGINS_LAST = (
    LOOP + "{% if m.role == 'user' %}[U]{% if loop.last and messages[0].role == 'system' %}"
    "{{ messages[0].content + '\n\n' }}{% endif %}{{ m.content }}[/U]"
    "{% elif m.role == 'assistant' %}{{ m.content }};{% endif %}{% endfor %}"
)
REFUSES = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
LEAVES_OUT = LOOP + "{% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}</>{% endif %}" + END
DEFAULT = "{{ bos_token }}{% if messages[0].role != 'system' %}<sys>Be.</sys>{% endif %}"
AROUND = LOOP + "<{{ m.role[:3] }}>{{ m.content }}</{{ m.role[:3] }}>" + END
REFUSAL = '{{ else }}{{ index "" "no such role in this template" }}{{ end }}'


def rendering(text: str, **tokens: str) -> affixes.Render:
    template = Template(text, tokens.get("bos"), tokens.get("eos", "</s>"), ["</s>"], "model", 256)
    return lambda messages, generation: render(template, messages, generation)


def written(text: str, adds_bos: bool = False, stop: list[str] | None = None) -> str:
    template = Template(text, "<s>", "</s>", stop or [], "model", 256)
    return modelfile.write("./m.gguf", template, rendering(text, bos="<s>"), adds_bos)


def talk(*contents: str, system: str | None = None) -> list[dict[str, str]]:
    first = [] if system is None else [{"role": "system", "content": system}]
    return first + [
        {"role": ("user", "assistant")[number % 2], "content": content}
        for number, content in enumerate(contents)
    ]


@pytest.mark.parametrize(
    "text",
    [tiny.CHATML, "{{ bos_token }}" + HONE_TEMPLATE, ENDING, BEGINS_FIRST, BEGINS_LAST, DEFAULT + AROUND],
)
def test_prompts_are_those_of_the_template(text: str) -> None:
    prompt = rendering(text, bos="<s>")
    found = affixes.find_affixes(prompt, "<s>")
    for contents in (["Hi"], ["a", "b", "c\nd"], ["a", "b", "c", "{d}", "e", "f", "g"]):
        for system in (None, "Be\n\nbrief."):
            messages = talk(*contents, system=system)
            assert found.render(messages) == prompt(messages, True)


# What is written was compared with what Ollama 0.17.4 renders of it.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            DEFAULT + AROUND,
            "{{ range $i, $m := .Messages }}"
            '{{ if and (eq $i 0) (ne $m.Role "system") }}<sys>Be.</sys>{{ end }}'
            '{{ if eq $m.Role "user" }}<use>{{ $m.Content }}</use>'
            '{{ else if eq $m.Role "assistant" }}<ass>{{ $m.Content }}</ass>'
            '{{ else if eq $m.Role "system" }}<sys>{{ $m.Content }}</sys>' + REFUSAL + "{{ end }}<ass>",
        ),
        (
            ENDING,
            '{{ range $i, $m := .Messages }}{{ if eq $m.Role "user" }}<use>{{ $m.Content }}</><ass>'
            '{{ else if eq $m.Role "assistant" }}{{ $m.Content }}</>'
            '{{ else if eq $m.Role "system" }}<sys>{{ $m.Content }}</>' + REFUSAL + "{{ end }}",
        ),
        (
            BEGINS_FIRST,
            '{{ $s := false }}{{ range $i, $m := .Messages }}{{ if eq $m.Role "user" }}'
            "{{ if $s }}>>{{ else }}[U]{{ end }}{{ $m.Content }}[/U]"
            '{{ else if eq $m.Role "assistant" }}{{ $m.Content }};'
            '{{ else if eq $m.Role "system" }}[U]<<{{ $m.Content }}'
            + REFUSAL
            + '{{ $s = eq $m.Role "system" }}{{ end }}',
        ),
        (
            BEGINS_LAST,
            '{{ range $i, $m := .Messages }}{{ if eq $m.Role "user" }}'
            "{{ if and $.System (eq (len (slice $.Messages $i)) 1) }}[U]{{ $.System }}\n\n"
            "{{ else }}[U]{{ end }}"
            '{{ $m.Content }}[/U]{{ else if eq $m.Role "assistant" }}{{ $m.Content }};'
            '{{ else if eq $m.Role "system" }}' + REFUSAL + "{{ end }}",
        ),
        (
            REFUSES + AROUND,
            '{{ range $i, $m := .Messages }}{{ if eq $m.Role "user" }}<use>{{ $m.Content }}</use>'
            '{{ else if eq $m.Role "assistant" }}<ass>{{ $m.Content }}</ass>' + REFUSAL + "{{ end }}<ass>",
        ),
        (
            LEAVES_OUT,
            '{{ range $i, $m := .Messages }}{{ if eq $m.Role "user" }}<user>{{ $m.Content }}</>'
            '{{ else if eq $m.Role "assistant" }}<assistant>{{ $m.Content }}</>'
            '{{ else if eq $m.Role "system" }}' + REFUSAL + "{{ end }}<ass>",
        ),
    ],
)
def test_what_is_written(text: str, expected: str) -> None:
    made = written(text, adds_bos=True)
    template = made.removeprefix('FROM ./m.gguf\nTEMPLATE """').removesuffix(
        '"""\nPARAMETER repeat_penalty 1\n'
    )
    assert template == expected


def test_what_a_modelfile_would_lose_is_written_as_constants() -> None:
    """The parser drops what is not printable, and braces and quotes end a text."""
    strange = LOOP + '<{{ m.role }}>\u200b{% raw %}{{{"""{% endraw %}{{ m.content }}' + END
    assert '<user>{{ "\\U0000200b{{" }}{{ "{\\"\\"\\"" }}{{ $m.Content }}' in written(strange)
    brace = LOOP + "{{ m.content }}|" + END.replace("<ass>", "{{ '<ass>{' }}")
    assert '<ass>{{ "{" }}"""\n' in written(brace)


def test_stops_are_written_as_ollama_reads_them() -> None:
    """Between quotes it takes everything as it is."""
    made = written(tiny.CHATML, stop=["</s>", 'a"b', "a\\b", "a\n", "\u200b"])
    assert made.endswith(
        'PARAMETER stop "</s>"\nPARAMETER stop """a"b"""\nPARAMETER stop "a\\b"\nPARAMETER stop "a\n"\n'
        "PARAMETER repeat_penalty 1\n"
    )


def test_what_the_template_leaves_out_of_messages_is_told() -> None:
    strips = tiny.CHATML.replace("['content']", "['content'].split('</think>')[-1].strip()")
    made = written(strips)
    assert "TEMPLATE" in made and "White space around a message stays" in made
    assert "Reasoning in an earlier answer stays" in made
    assert "#" not in written(tiny.CHATML)
    # A template may also refuse such a message.
    refuses = "{% if '</think>' in m.content %}{{ raise_exception('no') }}{% endif %}"
    assert "#" not in written(AROUND.replace(LOOP, LOOP + refuses))


def test_templates_that_do_more_are_left_to_ollama() -> None:
    counting = LOOP + "{{ loop.index }}{{ m['content'] }}{% endfor %}"
    shouting = LOOP + "{{ m['content'] | upper }}{% endfor %}"
    for text in (counting, shouting):
        with pytest.raises(affixes.NotExpressible):
            affixes.find_affixes(rendering(text))
    assert 'TEMPLATE "' not in written(counting) and "which Ollama's language cannot say" in written(counting)
