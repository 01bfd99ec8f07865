"""The Modelfile has the tools, calls and results of the chat template."""

import dataclasses

import pytest

from trainer.data.template import Template, choose, render
from trainer.data.tools import conversation
from trainer.export.ollama import modelfile
from trainer.export.ollama.affixes import NotExpressible, find_affixes
from trainer.export.ollama.tool_affixes import find_tool_affixes
from trainer.tests.chat import ONE_CALL, PARALLEL_CALLS, SYSTEM, TOOL_CASES, WEATHER, equip
from trainer.tests.tiny import build_tokenizer

CHATML = ({"eos_token": "<|im_end|>", "added": ["<|im_start|>"]}, {})
# Those that have tools in the syntax of Hermes when it is asked for.
HERMES = ("hone", "gemma3", "phi3", "zephyr")
# What Ollama can express, with the text by which it recognizes a call.
TAGS = {
    "qwen2_5+tools": "<tool_call>",
    "qwen3+tools": "<tool_call>",
    "llama3_1+tools": "{",
    "mistral_tools": "[TOOL_CALLS] [",
    **dict.fromkeys(HERMES, "<tool_call>"),
}


def chosen(name: str) -> Template:
    syntax = "hermes" if name in HERMES else "template"
    return choose(equip(build_tokenizer(300), name), {}, None, tool_syntax=syntax)


def written(template: Template) -> str:
    return modelfile.write("./m.gguf", template, lambda *asked: render(template, *asked), False)


@pytest.mark.parametrize("name", TAGS)
def test_prompts_with_tools_are_those_of_the_template(name: str) -> None:
    template = chosen(name)

    def prompt(messages, generation):
        return render(template, messages, generation)

    found = find_tool_affixes(prompt, find_affixes(prompt, template.bos_token))
    talks = [ONE_CALL[:1], ONE_CALL[:3]] + ([PARALLEL_CALLS[:4]] if "llama" not in name else [])
    for talk in talks:
        for asked in (talk, [SYSTEM, *talk]):
            given = conversation({"tools": [WEATHER]}, asked)
            assert found.render(given) == prompt(given, True)
    assert found.tag() == TAGS[name]
    made = written(template)
    assert "{{ if .ToolCalls }}" in made and '{{ template "tools" $.Tools }}' in made
    assert "# Ollama sorts" in made and "has no tools" not in made


@pytest.mark.parametrize(
    ("name", "words"),
    [("glm4moe", "the arguments of calls as JSON"), ("nemotron_3_nano", "does not list tools as JSON")],
)
def test_tools_that_ollama_cannot_express_are_left_out(
    name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TOOL_CASES, name, CHATML)
    made = written(chosen(name))
    assert "TEMPLATE has no tools, because the model's own" in made and words in made
    assert "{{ if eq $m.Role" in made and ".Tools" not in made


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tool | tojson", "tool | tojson | upper", "list tools"),
        ("'\\n<tool_response>\\n'", "'\\n<tool_response>\\n' + loop.index | string", "fixed text"),
        ('<tool_call>\\n{"name": "', "", "name of its function"),
    ],
)
def test_a_template_that_does_more_is_refused(old, new, words) -> None:
    template = chosen("qwen3+tools")
    assert old in template.chat_template
    changed = dataclasses.replace(template, chat_template=template.chat_template.replace(old, new))

    def prompt(messages, generation):
        return render(changed, messages, generation)

    with pytest.raises(NotExpressible, match=words):
        find_tool_affixes(prompt, find_affixes(prompt))


def test_a_system_message_that_moves_with_results_is_told_apart() -> None:
    """Mistral's template puts it into the last message of the user, which may be results."""
    tokenizer = equip(build_tokenizer(300), "mistral")
    made = written(choose(tokenizer, {}, None, tool_syntax="hermes"))
    assert "TEMPLATE has no tools" in made and 'TEMPLATE """' in made


def test_a_template_without_tools_says_nothing_of_them() -> None:
    assert "ool" not in written(chosen("deepseekv3+tools"))
