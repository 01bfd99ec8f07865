"""The Modelfile says in Ollama's language what the chat template says."""

from types import SimpleNamespace

import pytest

from trainer.data.template import HONE_TEMPLATE, Template, render
from trainer.export import modelfile
from trainer.tests import tiny


def rendering(text: str, **tokens: str) -> modelfile.Render:
    template = Template(text, tokens.get("bos"), tokens.get("eos", "</s>"), ["</s>"], "model", 256)
    return lambda messages, generation: render(template, messages, generation)


def test_templates_that_put_text_around_messages_are_written_in_go() -> None:
    for text in (tiny.CHATML, HONE_TEMPLATE, "{{ bos_token }}" + HONE_TEMPLATE):
        found = modelfile.find_affixes(rendering(text, bos="<s>"), "<s>")
        assert "{{ range $i, $m := .Messages }}" in modelfile.go_template(found)
    told = modelfile.write(
        "./m.gguf",
        SimpleNamespace(stop=["</s>", 'a"b'], bos_token="<s>"),
        rendering("{{ bos_token }}" + HONE_TEMPLATE, bos="<s>"),
        adds_bos=True,
    )
    assert told.startswith("FROM ./m.gguf\nTEMPLATE ") and "<s>" not in told
    assert 'PARAMETER stop "a\\"b"' in told


def test_templates_that_do_more_are_left_to_the_gguf() -> None:
    counting = "{% for m in messages %}{{ loop.index }}{{ m['content'] }}{% endfor %}"
    shouting = "{% for m in messages %}{{ m['content'] | upper }}{% endfor %}"
    for text in (counting, shouting):
        with pytest.raises(modelfile.NotExpressible):
            modelfile.find_affixes(rendering(text))
    told = modelfile.write("./m.gguf", SimpleNamespace(stop=[], bos_token=None), rendering(counting), False)
    assert 'TEMPLATE "' not in told and "model's own writes a message differently" in told


def test_a_default_system_message_gives_way_to_a_given_one() -> None:
    """The text was compared with what Ollama 0.17.4 renders."""
    default = "{{ bos_token }}{% if messages[0].role != 'system' %}<sys>Be.</sys>{% endif %}"
    around = (
        "{% for m in messages %}<{{ m.role[:3] }}>{{ m.content }}</{{ m.role[:3] }}>{% endfor %}"
        "{% if add_generation_prompt %}<ass>{% endif %}"
    )
    template = SimpleNamespace(stop=[], bos_token="<s>")
    told = modelfile.write("./m.gguf", template, rendering(default + around, bos="<s>"), True)
    assert told.split('"""')[1] == (
        '{{ range $i, $m := .Messages }}{{ if and (eq $i 0) (ne $m.Role "system") }}<sys>Be.</sys>{{ end }}'
        '{{ if eq $m.Role "user" }}<use>{{ $m.Content }}</use>'
        '{{ else if eq $m.Role "assistant" }}<ass>{{ $m.Content }}</ass>'
        '{{ else if eq $m.Role "system" }}<sys>{{ $m.Content }}</sys>{{ end }}{{ end }}<ass>'
    )


def test_a_system_message_inside_the_user_s_is_not_dropped() -> None:
    merged = (
        "{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}<{{ m.role }}>"
        "{{ messages[0].content + '!' if loop.index0 == 1 and messages[0].role == 'system' }}"
        "{{ m.content }}"
        "{% endfor %}{{ '<assistant>' if add_generation_prompt }}"
    )
    told = modelfile.write("./m.gguf", SimpleNamespace(stop=[], bos_token=None), rendering(merged), False)
    assert "puts the system message into the user's" in told and 'TEMPLATE "' not in told
