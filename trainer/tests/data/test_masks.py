"""What a conversation teaches under published chat templates, marked by hand."""

import pytest

from trainer.data import template
from trainer.data.encode import IGNORED, encode_conversations
from trainer.data.thinking import has_reasoning
from trainer.protocol.failures import Failure
from trainer.tests.chat import CASES, SYSTEM, TURNS, equip, mask, prompts, questions, render_as_playground
from trainer.tests.tiny import build_tokenizer


def chosen(name):
    """A tokenizer with the tokens of the template `name`, and the template as training uses it."""
    tokenizer = equip(build_tokenizer(300), name)
    mode = "learn" if any(map(has_reasoning, CASES[name][1])) else "keep"
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
    for name, (_, conversation) in CASES.items():
        path = tmp_path / f"{name}.json"
        template.save(chosen(name)[1], "text-generation", path)
        asked += [(path, messages) for messages in questions(conversation)]
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
