"""What a conversation teaches under published chat templates, marked by hand."""

import hashlib
import json

import pytest

from trainer.data import template
from trainer.data.encode import IGNORED, encode_conversations
from trainer.data.thinking import has_reasoning
from trainer.data.tools import conversation
from trainer.protocol.failures import Failure
from trainer.tests.chat import (
    CASES,
    ONE_CALL,
    PARALLEL_CALLS,
    SYSTEM,
    TOOL_CASES,
    TURNS,
    WEATHER,
    equip,
    mask,
    prompts,
    questions,
    render_as_playground,
)
from trainer.tests.tiny import build_tokenizer


def chosen(name):
    """A tokenizer with the tokens of the template `name`, and the template as training uses it."""
    tokenizer = equip(build_tokenizer(300), name)
    mode = "learn" if name in CASES and any(map(has_reasoning, CASES[name][1])) else "keep"
    return tokenizer, template.choose(tokenizer, {}, None, mode)


def marked(tokenizer, sequence):
    """The text of a sequence, with ⟦ and ⟧ around what is learned."""
    text, run, learned = "", [], False
    for token, label in [*zip(sequence.input_ids, sequence.labels, strict=True), (None, IGNORED)]:
        assert label in (IGNORED, token)
        if token is None or (label != IGNORED) != learned:
            part = tokenizer.decode(run)
            text += f"⟦{part}⟧" if learned else part
            run, learned = [], label != IGNORED
        run.append(token)
    return text


@pytest.mark.parametrize("name", CASES)
def test_what_is_learned_is_what_is_marked_by_hand(name):
    tokenizer, made = chosen(name)
    (sequences,) = encode_conversations(tokenizer, made, [CASES[name][1]])
    assert [marked(tokenizer, sequence) for sequence in sequences] == mask(name)


@pytest.mark.parametrize("name", TOOL_CASES)
def test_calls_of_tools_are_learned_and_their_results_are_not(name):
    tokenizer, made = chosen(name)
    row = TOOL_CASES[name][1]
    (sequences,) = encode_conversations(tokenizer, made, [conversation(row, row["messages"])])
    assert [marked(tokenizer, sequence) for sequence in sequences] == mask(name)


def given(messages, tools=(WEATHER,)):
    return conversation({"tools": list(tools)}, messages)


def with_id(messages, identifier):
    """The conversation with another ID of its only call."""
    text = json.dumps(messages).replace(messages[2]["tool_call_id"], identifier)
    return json.loads(text)


def test_ids_of_any_length_become_those_that_the_template_takes():
    tokenizer, made = chosen("mistral_tools")
    (sequences,) = encode_conversations(tokenizer, made, [given(with_id(ONE_CALL, "call_AbCdEfGhIjKl"))])
    written = hashlib.sha256(b"call_AbCdEfGhIjKl").hexdigest()[:9]
    learned = marked(tokenizer, sequences[0])
    assert f'"arguments": {{"city": "Zürich"}}, "id": "{written}"}}]</s>⟧' in learned
    assert f'"call_id": "{written}"' in learned


def test_arguments_may_be_an_object_and_whole_numbers_are_written_as_in_javascript():
    tokenizer, made = chosen("qwen2_5+tools")
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "weather", "arguments": {"city": "Bern", "hours": 2.0}},
    }
    asked = [ONE_CALL[0], {"role": "assistant", "tool_calls": [call]}]
    (sequences,) = encode_conversations(tokenizer, made, [given(asked)])
    assert '"arguments": {"city": "Bern", "hours": 2}}' in marked(tokenizer, sequences[0])


@pytest.mark.parametrize(
    ("name", "row", "words"),
    [
        ("hone", ONE_CALL, "writes no tools"),
        ("gemma3", ONE_CALL, "writes no tools"),
        ("llama3_1+tools", PARALLEL_CALLS, "single tool-calls"),
        (
            "llama3_1+tools",
            [ONE_CALL[0], {**ONE_CALL[1], "content": "I look."}],
            "the text beside a tool call: 'I look.'",
        ),
    ],
)
def test_a_template_that_would_leave_tools_out_is_refused(name, row, words):
    tokenizer, made = chosen(name)
    with pytest.raises(Failure) as caught:
        encode_conversations(tokenizer, made, [given(row)])
    assert words in caught.value.message and caught.value.code == "bad_tokenizer"


def test_the_refusal_names_models_whose_templates_write_tools():
    with pytest.raises(Failure) as caught:
        encode_conversations(*chosen("hone"), [given(ONE_CALL)])
    assert "Set tool_syntax to hermes" in caught.value.advice
    for model, name in {
        **{"Qwen2.5": "qwen2_5+tools", "Qwen3": "qwen3+tools"},
        **{"Llama 3.1": "llama3_1+tools", "Mistral": "mistral_tools"},
    }.items():
        assert model in caught.value.advice
        assert encode_conversations(*chosen(name), [given(ONE_CALL)])


@pytest.mark.parametrize("name", CASES)
def test_every_learned_answer_follows_the_tokens_of_its_prompt(name):
    tokenizer, made = chosen(name)
    (sequences,) = encode_conversations(tokenizer, made, [CASES[name][1]])
    found = [
        sequence.input_ids[:at]
        for sequence in sequences
        for at in range(1, len(sequence.labels))
        if sequence.labels[at] != IGNORED and sequence.labels[at - 1] == IGNORED
    ]
    assert found == tokenizer(prompts(mask(name)), add_special_tokens=False).input_ids


def test_the_playground_renders_the_prompts_of_the_marked_answers(tmp_path):
    asked, expected = [], []
    for name, (_, messages) in CASES.items():
        path = tmp_path / f"{name}.json"
        template.save(chosen(name)[1], "text-generation", path)
        asked += [(path, prompt) for prompt in questions(messages)]
        expected += prompts(mask(name))
    assert render_as_playground(asked) == expected


@pytest.mark.parametrize(
    ("name", "conversation", "words"),
    [
        ("gemma", [SYSTEM, *TURNS], "System role not supported"),
        ("gemma", [TURNS[0], *TURNS], "must alternate"),
        ("gemma3", [*TURNS[:2], *TURNS[1:]], "must alternate"),
    ],
)
def test_a_conversation_that_the_template_refuses_is_named(name, conversation, words):
    tokenizer, made = chosen(name)
    with pytest.raises(Failure) as caught:
        encode_conversations(tokenizer, made, [conversation])
    assert words in caught.value.message
