"""Conversations and texts as sequences: what is learned, and after which token ids."""

import pytest

from trainer.data import template
from trainer.data.encode import IGNORED, encode_conversations, encode_texts
from trainer.protocol.failures import Failure
from trainer.tests.chat import equip
from trainer.tests.data.test_template import CHANGING, ENDLESS, THINKING
from trainer.tests.export_fixture import sentencepiece_tokenizer
from trainer.tests.tiny import CHATML, build_tokenizer

TURNS = [
    {"role": "system", "content": "You sort messages."},
    {"role": "user", "content": "My parcel has not come."},
    {"role": "assistant", "content": "team: shipping"},
    {"role": "user", "content": "And my password?"},
    {"role": "assistant", "content": "team: access", "weight": 0},
    {"role": "user", "content": "I was charged twice."},
    {"role": "assistant", "content": "team: billing", "weight": 1},
    {"role": "user", "content": "Thanks."},
]
# Joins the end of a prompt with the beginning of its answer.
SPACED = (
    "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}{{ '</s>' if m.role == 'assistant' }}"
    "{% endfor %}{% if add_generation_prompt %}<s>assistant: {% endif %}"
)


def chosen(chat_template):
    tokenizer = build_tokenizer(500)
    tokenizer.chat_template = chat_template
    return tokenizer, template.choose(tokenizer, {}, None)


def learned_runs(tokenizer, sequence):
    """The texts that are learned in a sequence, and the token ids before each."""
    runs, prompts = [], []
    for at, label in enumerate(sequence.labels):
        if label == IGNORED:
            continue
        assert label == sequence.input_ids[at]
        if sequence.labels[at - 1] == IGNORED:
            runs.append([])
            prompts.append(sequence.input_ids[:at])
        runs[-1].append(label)
    return [tokenizer.decode(run) for run in runs], prompts


@pytest.mark.parametrize("text", [CHATML, None])
def test_a_conversation_is_one_sequence_with_every_answer_of_weight_1(text):
    tokenizer, made = chosen(text)
    ((row,),) = encode_conversations(tokenizer, made, [TURNS])
    end = made.stop[0]
    texts, _ = learned_runs(tokenizer, row)
    assert texts == [f"team: shipping{end}", f"team: billing{end}"]
    assert row.input_ids == tokenizer(tokenizer.decode(row.input_ids), add_special_tokens=False).input_ids
    # What follows the last answer teaches nothing.
    assert "Thanks" not in tokenizer.decode(row.input_ids)
    assert row.prompt_tokens == row.labels.index(next(label for label in row.labels if label != IGNORED))
    assert row.learned_tokens(10**6) == sum(label != IGNORED for label in row.labels)
    assert row.learned_tokens(row.prompt_tokens + 1) == 1


@pytest.mark.parametrize("text", [CHATML, None, THINKING, ENDLESS, SPACED])
def test_every_answer_follows_the_ids_that_the_playground_gives_its_prompt(text):
    tokenizer, made = chosen(text)
    (sequences,) = encode_conversations(tokenizer, made, [TURNS])
    found = [pair for sequence in sequences for pair in zip(*learned_runs(tokenizer, sequence), strict=True)]
    assert [answer.removesuffix(made.stop[0]) for answer, _ in found] == ["team: shipping", "team: billing"]
    for (_, ids), place in zip(found, (2, 6), strict=True):
        plain = [{"role": turn["role"], "content": turn["content"]} for turn in TURNS[:place]]
        sent = template.render(made, plain, True)
        assert ids == tokenizer(sent, add_special_tokens=False).input_ids


def test_turns_that_are_written_differently_later_get_sequences_of_their_own():
    # No end of turn within a conversation; a first token that depends on the answer.
    for text, word in ((ENDLESS, "team:"), (SPACED, "parcel")):
        tokenizer, made = chosen(text)
        turns = [{**turn, "content": turn["content"].replace("team:", word)} for turn in TURNS]
        ((first, second),) = encode_conversations(tokenizer, made, [turns])
        answers = [learned_runs(tokenizer, row)[0] for row in (first, second)]
        assert answers == [[f"{word} shipping</s>"], [f"{word} billing</s>"]]
        prompt = template.render(made, TURNS[:2], True)
        assert first.input_ids[: first.prompt_tokens] == tokenizer(prompt).input_ids
    # Earlier answers that lose their thoughts.
    dropping = CHATML.replace(
        "{{ message['content'] }}",
        "{{ message['content'] if loop.last else message['content'].split('</think>')[-1] | trim }}",
    )
    tokenizer, _ = chosen(dropping)
    made = template.choose(tokenizer, {}, None, "learn")
    thinking = [*TURNS[:2], {"role": "assistant", "content": "<think>Hm.</think>team: shipping"}, *TURNS[3:]]
    (rows, (plain,)) = encode_conversations(tokenizer, made, [thinking, TURNS])
    assert len(rows) == 2
    assert "Hm." in tokenizer.decode(rows[0].input_ids)
    assert "Hm." not in tokenizer.decode(rows[1].input_ids)
    assert plain.input_ids == rows[1].input_ids


def test_conversations_of_a_batch_do_not_touch_each_other():
    tokenizer, made = chosen(CHATML)
    many = [
        TURNS[:3],
        TURNS,
        TURNS[1:3],
        [*TURNS[:4], {"role": "assistant", "content": "\nteam"}, *TURNS[5:]],
    ]
    together = encode_conversations(tokenizer, made, many)
    assert together == [encode_conversations(tokenizer, made, [one])[0] for one in many]
    assert [len(rows) for rows in together[:3]] == [1, 1, 1]


def test_a_tokenizer_without_offsets_gives_the_same(monkeypatch):
    for text in (CHATML, SPACED, THINKING):
        tokenizer, made = chosen(text)
        expected = encode_conversations(tokenizer, made, [TURNS])
        with monkeypatch.context() as patch:
            patch.setattr(type(tokenizer), "is_fast", False)
            assert encode_conversations(tokenizer, made, [TURNS]) == expected


@pytest.mark.parametrize(
    ("kind", "name"), [("mistral-sp", "mistral"), ("phi3", "phi3"), ("phi3-chat", None), ("gemma2", "gemma")]
)
def test_an_answer_has_the_same_ids_whether_or_not_the_conversation_goes_on(tmp_path, kind, name):
    tokenizer = sentencepiece_tokenizer(tmp_path, kind)
    made = template.choose(equip(tokenizer, name) if name else tokenizer, {}, None)
    (whole,), (first,) = encode_conversations(tokenizer, made, [TURNS[1:], TURNS[1:3]])
    assert whole.input_ids[: len(first.input_ids)] == first.input_ids
    assert first.input_ids == tokenizer("".join(template.split(made, TURNS[1:3]))).input_ids


def test_a_template_that_refuses_a_conversation_is_told():
    strict = "{% for m in messages %}{% if loop.previtem is defined and loop.previtem.role == m.role %}"
    strict += "{{ raise_exception('Roles must alternate') }}{% endif %}{% endfor %}"
    for text, words in (
        (strict + CHATML, "Roles must alternate"),
        (CHANGING, "renders a prompt differently"),
    ):
        tokenizer, made = chosen(text)
        with pytest.raises(Failure, match=words):
            encode_conversations(tokenizer, made, [[TURNS[1], *TURNS[1:]]])


def test_a_text_is_learned_whole_with_its_end():
    from tokenizers.processors import TemplateProcessing

    tokenizer, _ = chosen(None)
    plain, empty = encode_texts(tokenizer, ["My parcel has not come.", ""])
    ids = tokenizer("My parcel has not come.").input_ids
    assert plain.input_ids == [*ids, tokenizer.eos_token_id]
    # Nothing comes before the first token, so nothing can predict it.
    assert plain.labels == [IGNORED, *ids[1:], tokenizer.eos_token_id]
    assert empty.input_ids == []
    tokenizer._tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    (begun,) = encode_texts(tokenizer, ["My parcel has not come."])
    assert begun.input_ids == [1, *plain.input_ids]
    assert begun.labels == [IGNORED, *plain.input_ids]
