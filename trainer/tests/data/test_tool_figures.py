"""The calls in an answer, in the notation of each family, and the figures of calls."""

from __future__ import annotations

import json

import pytest

from trainer.data.tools import calls_in, figures

NAMES = ("get_weather", "get_weather_of_day", "find")
PARIS = json.dumps({"city": "Paris", "days": 2})
HERMES = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'


@pytest.mark.parametrize(
    "text",
    [
        HERMES % ("get_weather", PARIS),
        '[TOOL_CALLS][{"name": "get_weather", "arguments": {"days": 2.0, "city": "Paris"}, "id": "abc"}]',
        '[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{"city": "Paris", "days": 2}',
        '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris", "days": 2}}',
        '{"type": "function", "name": "get_weather", "parameters": {"city":"Paris","days":2}}',
        '<|channel|>commentary to=functions.get_weather<|message|>{"days":2,"city":"Paris"}',
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris", "days": 2}\n```',
        '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris", "days": 2}<｜tool▁call▁end｜>',
        'get_weather\n{"city": "Paris", "days": 2}',
        "<|tool_call_start|>[get_weather(city='Paris', days=2)]<|tool_call_end|>",
        f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {PARIS}}}]',
        f'Action:\n```json\n[\n  {{\n    "tool_name": "get_weather",\n    "parameters": {PARIS}\n  }}\n]```',
    ],
)
def test_calls_with_json_are_found_in_every_notation(text):
    assert calls_in(text, NAMES) == [("get_weather", PARIS)]
    assert calls_in(f"I look.\n{text}", NAMES) == [("get_weather", PARIS)]
    assert [name for name, _ in calls_in(f"{text}\n{text}", NAMES)] == ["get_weather"] * 2


def test_calls_without_json_are_compared_as_text():
    tags = "<tool_call>\n<function=find>\n<parameter=city>\n{}\n</parameter>\n</function>\n</tool_call>"
    gemma = "<start_function_call>call:find{{city:<escape>{}<escape>}}<end_function_call>"
    glm = "<tool_call>find\n<arg_key>city</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>"
    for form in (tags, gemma, glm):
        (one,), (spaced,) = calls_in(form.format("Paris"), NAMES), calls_in(form.format(" Paris"), NAMES)
        (other,) = calls_in(form.format("Rome"), NAMES)
        assert one == spaced != other and one[0] == other[0] == "find"
        assert len(calls_in(form.format("Paris") * 2, NAMES)) == 2
    for empty in ("<function=find>\n</function>", "<tool_call>find\n</tool_call>", "[get_weather(), find()]"):
        assert "find" in dict(calls_in(empty, NAMES))


@pytest.mark.parametrize(
    "text",
    ["", "I find it.", "Use get_weather or find (now) for that.", HERMES % ("search", PARIS)],
)
def test_what_calls_nothing(text):
    assert calls_in(text, NAMES) == []


def test_a_name_in_arguments_is_no_call():
    inner = json.dumps({"query": 'find {"city": 1}', "tool": {"find": {}}})
    assert [name for name, _ in calls_in(HERMES % ("get_weather", inner), NAMES)] == ["get_weather"]


def test_the_figures_count_what_is_called_and_with_what():
    wanted = HERMES % ("find", '{"id": 7}')
    two = wanted + HERMES % ("get_weather", PARIS)
    turned = HERMES % ("get_weather", PARIS) + wanted
    rows = [
        (wanted, wanted),
        (wanted.replace("7", "8"), wanted),
        ("The parcel is there.", wanted),
        ("The parcel is there.", "It is there."),
        (wanted, "It is there."),
        (turned, two),
        (wanted, two),
        (HERMES % ("get_weather_of_day", PARIS), HERMES % ("get_weather", PARIS)),
    ]
    answers, references = zip(*rows, strict=True)
    found = figures(answers, references, [NAMES] * len(rows))
    assert found == {"right_tool": 100 * 4 / 8, "right_arguments": 100 * 3 / 8}
    # Prompts without tools do not count.
    assert figures(["a", wanted], ["b", wanted], [(), NAMES]) == {"right_tool": 100, "right_arguments": 100}
    assert figures(["a"], ["b"], [()]) == {}
