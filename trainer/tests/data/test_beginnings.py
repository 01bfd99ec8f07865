"""What a chat template gets in front of it for tools."""

import json

import pytest

from trainer.data import template
from trainer.data.conversations import turns
from trainer.data.renderings import compare_renderings
from trainer.data.rows import job_rows
from trainer.data.tools import conversation
from trainer.preview.preview import open_job
from trainer.protocol.failures import Failure
from trainer.tests import jobs, tiny
from trainer.tests.chat import CASES, PARALLEL_CALLS, SYSTEM, TOOL_CASES, WEATHER, equip
from trainer.tests.tiny import build_tokenizer

WITHOUT_TOOLS = ("hone", "gemma", "gemma3", "phi3", "zephyr", "mistral")
OFFER = f"""\
# Functions

These functions can be called. Each is described in JSON:
<tools>
{json.dumps(WEATHER)}
</tools>

To call one, write its name and arguments as JSON between tags, one pair of tags for each call:
<tool_call>
{{"name": NAME, "arguments": ARGUMENTS}}
</tool_call>"""
CALLS = """<tool_call>
{"name": "weather", "arguments": {"city": "Bern"}}
</tool_call>
<tool_call>
{"name": "weather", "arguments": {"city": "Chur"}}
</tool_call>"""
RESULTS = "<tool_response>\nrain\n</tool_response>\n<tool_response>\nsun\n</tool_response>"
# Of a tokenizer with a template of its own for tools, which lists them in a way that the other does not.
TOOL_USE = (
    "{%- macro listed(tool) -%}<{{ tool | tojson }}>{%- endmacro -%}\n"
    "{%- for tool in tools %}{{ listed(tool) }}{% endfor %}"
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}"
    "{% for call in m.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}"
    "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}\n"
)


def chosen(name, syntax="hermes"):
    return template.choose(equip(build_tokenizer(300), name), {}, None, tool_syntax=syntax)


@pytest.mark.parametrize("name", WITHOUT_TOOLS)
def test_tools_get_the_syntax_of_hermes_and_other_conversations_stay(name):
    made, own = chosen(name), chosen(name, "template")
    assert made.tools == {"tools": True, "calls": True, "results": True, "arguments": "object"}
    assert own.tools is not None and not own.tools["tools"]
    for conversation_ in (CASES[name][1], CASES[name][1][:1]):
        assert template.render(made, conversation_, True) == template.render(own, conversation_, True)
    asked = conversation({"tools": [WEATHER]}, PARALLEL_CALLS)
    first, last = turns(made, asked)
    assert OFFER in first.prompt and first.completion.strip().startswith(CALLS)
    assert RESULTS in last.prompt and last.prompt.count("<tools>") == first.prompt.count("<tools>")
    # As the plain template writes the same texts.
    texts = [
        {"role": "system", "content": OFFER},
        PARALLEL_CALLS[0],
        {"role": "assistant", "content": CALLS},
        {"role": "user", "content": RESULTS},
    ]
    if name == "gemma":
        texts = [{"role": "user", "content": f"{OFFER}\n\n{texts[1]['content']}"}, *texts[2:]]
    assert template.render(made, asked[:4], True) == template.render(own, texts, True)


def test_tools_end_a_system_message_and_calls_follow_a_text():
    made = chosen("phi3")
    talk = [SYSTEM, PARALLEL_CALLS[0], {**PARALLEL_CALLS[1], "content": "I look."}]
    text = template.render(made, conversation({"tools": [WEATHER]}, talk), False)
    assert f"{SYSTEM['content']}\n\n{OFFER}<|end|>" in text and f"I look.\n{CALLS}<|end|>" in text


def test_the_syntax_may_replace_that_of_the_template_and_is_added_once():
    made = chosen("llama3_1+tools")
    text = template.render(made, conversation({"tools": [WEATHER]}, PARALLEL_CALLS), False)
    assert CALLS in text and "ipython" not in text
    tokenizer = build_tokenizer(300)
    tokenizer.chat_template = made.chat_template
    for syntax in ("hermes", "template"):
        again = template.choose(tokenizer, {}, None, tool_syntax=syntax)
        assert again.chat_template == made.chat_template and again.tools == made.tools


def test_what_is_refused_without_it_names_it():
    row = {"tools": [WEATHER]}
    with pytest.raises(Failure) as caught:
        template.render(chosen("gemma3", "template"), conversation(row, PARALLEL_CALLS), True)
    assert "tool_syntax to hermes" in caught.value.advice


def test_rows_with_tools_take_the_template_for_tools():
    tokenizer = build_tokenizer(300)
    tokenizer.chat_template = {"default": tiny.CHATML, "tool_use": TOOL_USE}
    made = template.choose(tokenizer, {}, None)
    plain = [{"role": "user", "content": "Hi"}]
    assert template.render(made, plain, True) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    asked = conversation({"tools": [WEATHER]}, PARALLEL_CALLS[:3])
    text = template.render(made, asked, True)
    assert text.startswith(f"<{json.dumps(WEATHER)}>[user]Bern or Chur?</s>[assistant]<tool_call>")
    assert text.endswith("[tool]rain</s>[assistant]")
    tokenizer.chat_template = TOOL_USE
    alone = template.choose(tokenizer, {}, None)
    assert template.render(alone, asked, True) == text
    # Calls without tools are of the same kind.
    untold = conversation({}, PARALLEL_CALLS[:3])
    assert template.render(made, untold, True) == template.render(alone, untold, True)


@pytest.mark.parametrize("name", [*WITHOUT_TOOLS, *TOOL_CASES, "tool_use"])
def test_the_playground_renders_the_same(tmp_path, models, name):
    plain = [PARALLEL_CALLS[0], {"role": "assistant", "content": "Both."}]
    rows = [{"tools": [WEATHER], "messages": PARALLEL_CALLS}, {"messages": plain}]
    folder = tiny.build("llama", tmp_path / "model")
    tokenizer = build_tokenizer(300)
    if name == "tool_use":
        tokenizer.chat_template = {"default": tiny.CHATML, "tool_use": TOOL_USE}
    else:
        equip(tokenizer, name)
    tokenizer.save_pretrained(folder)
    syntax = "template" if name == "tool_use" else "hermes"
    job = open_job(str(jobs.make(tmp_path / "job", folder, rows, tool_syntax=syntax)), [], False)
    template.save(job.template, "text-generation", tmp_path / "template.json")
    compare_renderings(job, job_rows(job), tmp_path / "template.json")
