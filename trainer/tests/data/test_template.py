"""One rule for prompts: what is trained is what is asked, whatever the model's template does."""

import json

import pytest

from trainer.data import template
from trainer.data.encode import IGNORED, encode_conversations
from trainer.protocol.failures import Failure
from trainer.tests.tiny import CHATML, build_tokenizer

MESSAGES = [
    {"role": "user", "content": "My parcel has not come."},
    {"role": "assistant", "content": "team: shipping"},
]

# The same manners as templates in the wild have, in our own words.
THINKING = (
    "{% set quiet = enable_thinking is defined and enable_thinking is false %}"
    "{% set thought = '<think>\n\n</think>\n\n' if quiet else '' %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ thought if m.role == 'assistant' }}{{ m.content }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{{ thought }}{% endif %}"
)
DATED = (
    "{{ bos_token }}Today: {{ strftime_now('%d %b %Y') if strftime_now is defined else 'never' }}\n"
    "{% for m in messages %}[{{ m.role }}] {{ m.content | trim }}{{ eos_token if m.role == 'assistant' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
FORGETFUL = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: <think>{% endif %}"
)
ENDLESS = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% if not loop.last %}\n{% endif %}{% endfor %}"
    + ("{% if add_generation_prompt %}\nassistant: {% endif %}")
)
MARKED = CHATML.replace(
    "{{ message['content'] }}", "{% generation %}{{ message['content'] }}{% endgeneration %}"
)
# A prompt without the answer's beginning.
CHANGING = FORGETFUL.replace("<think>", "(draft) ")
STRICT = (
    "{% if messages[0].role == 'user' %}{{ raise_exception('A system message must come first') }}{% endif %}"
)


def chosen(chat_template=None, use=None, config=None):
    tokenizer = build_tokenizer(300)
    tokenizer.chat_template = chat_template
    return tokenizer, template.choose(tokenizer, config or {}, use)


def test_a_base_model_gets_hone_s_template():
    tokenizer, made = chosen()
    prompt, completion = template.split(made, MESSAGES)
    assert prompt == "My parcel has not come.\n###\n"
    assert completion == "team: shipping</s>"
    assert made.stop == ["</s>"] and made.source == "hone"
    assert tokenizer.chat_template == made.chat_template


def test_hone_s_template_begins_with_the_bos_token_where_the_tokenizer_adds_it():
    from tokenizers.processors import TemplateProcessing

    tokenizer = build_tokenizer(300)
    tokenizer._tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    made = template.choose(tokenizer, {}, None)
    assert template.render(made, MESSAGES[:1], True).startswith("<s>My parcel")


@pytest.mark.parametrize("text", [CHATML, THINKING, DATED, ENDLESS])
@pytest.mark.parametrize("answer", ["team: shipping", " spaced ", "two\n\nparagraphs\n", "<b>{{ x }}</b>"])
def test_prompt_and_completion_make_the_whole_and_end_the_turn(text, answer):
    _, made = chosen(text)
    messages = [MESSAGES[0], {"role": "assistant", "content": answer}]
    prompt, completion = template.split(made, messages)
    assert prompt == template.render(made, messages[:1], True)
    assert completion.endswith(tuple(made.stop))
    assert answer.strip() in completion
    assert "<think>" not in completion


def test_the_stop_is_the_token_that_the_template_puts_behind_an_answer():
    assert chosen(CHATML)[1].stop == ["<|im_end|>", "</s>"]
    assert chosen(ENDLESS)[1].stop == ["</s>"]


def test_a_token_that_ends_an_answer_need_not_be_marked_special():
    from tokenizers import AddedToken

    tokenizer = build_tokenizer(300)
    tokenizer.add_tokens([AddedToken(token, special=False) for token in ("<|end|>", "<|end", "\n")])
    tokenizer.chat_template = CHATML.replace("<|im_end|>", "<|end|>")
    made = template.choose(tokenizer, {}, None)
    assert made.stop == ["<|end|>", "</s>"]
    assert template.split(made, MESSAGES)[1] == "team: shipping<|end|>"


def test_an_end_of_text_behind_the_end_of_the_turn_is_not_learned():
    _, made = chosen(CHATML + "{% if not add_generation_prompt %}{{ eos_token }}{% endif %}")
    assert made.stop == ["<|im_end|>", "</s>"]
    assert template.split(made, MESSAGES)[1] == "team: shipping<|im_end|>"


def test_the_date_stands_still_in_the_template_itself():
    _, dated = chosen(DATED)
    assert "01 Jan 2025" in template.render(dated, MESSAGES[:1], True)


def test_our_rendering_is_transformers_own():
    for text in (CHATML, ENDLESS, MARKED, None):
        tokenizer, made = chosen(text)
        for messages, generate in ((MESSAGES[:1], True), (MESSAGES, False)):
            theirs = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=generate)
            assert template.render(made, messages, generate) == theirs


@pytest.mark.parametrize(
    ("text", "use", "words"),
    [
        (CHANGING, None, "use_chat_template to false"),
        (STRICT, None, "A system message must come first"),
        ("{% for m in %}", None, "cannot render"),
        (None, True, "no chat template"),
    ],
)
def test_a_template_that_cannot_be_trained_with_is_refused(text, use, words):
    with pytest.raises(Failure) as caught:
        _, made = chosen(text, use)
        template.split(made, MESSAGES)
    assert caught.value.code == "bad_tokenizer"
    assert words in caught.value.message + caught.value.advice + caught.value.evidence


def test_a_model_s_own_template_can_be_declined():
    assert chosen(FORGETFUL, use=False)[1].source == "hone"


def test_a_tokenizer_without_an_end_is_refused_and_a_padding_token_will_do():
    tokenizer = build_tokenizer(300)
    tokenizer.eos_token = None
    assert template.choose(tokenizer, {}, None).stop == ["<pad>"]
    tokenizer = build_tokenizer(300)
    tokenizer.eos_token = tokenizer.pad_token = None
    with pytest.raises(Failure):
        template.choose(tokenizer, {}, None)


def test_the_context_is_the_smallest_limit_that_is_named():
    tokenizer = build_tokenizer(300)
    assert template.context_length(tokenizer, {}) is None
    assert template.context_length(tokenizer, {"max_position_embeddings": 64}) == 64
    assert template.context_length(tokenizer, {"text_config": {"max_position_embeddings": 32}}) == 32
    tokenizer.model_max_length = 16
    assert template.context_length(tokenizer, {"n_positions": 64}) == 16


def test_the_stored_template_is_what_was_used(tmp_path):
    _, made = chosen(CHATML, config={"max_position_embeddings": 64})
    template.save(made, "text-generation", tmp_path / "template.json")
    told = json.loads((tmp_path / "template.json").read_text())
    assert told.pop("thinking")["mode"] == "keep"
    assert told == {
        "normalizer": None,
        "tools": {"tools": False, "calls": False, "results": True, "arguments": "object"},
        "version": 1,
        "task": "text-generation",
        "chat_template": CHATML,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "stop": ["<|im_end|>", "</s>"],
        "source": "model",
        "context_length": 64,
    }


def test_the_prompt_s_tokens_are_those_of_the_prompt_alone_and_only_the_answer_is_labelled():
    tokenizer, made = chosen(CHATML)
    ((row,),) = encode_conversations(tokenizer, made, [MESSAGES])
    prompt, completion = template.split(made, MESSAGES)
    alone = tokenizer(prompt, add_special_tokens=False).input_ids
    assert row.input_ids[: row.prompt_tokens] == alone
    assert row.labels[: row.prompt_tokens] == [IGNORED] * len(alone)
    assert row.labels[row.prompt_tokens :] == row.input_ids[row.prompt_tokens :]
    assert tokenizer.decode(row.labels[row.prompt_tokens :]) == completion == "team: shipping<|im_end|>"


def test_a_template_of_content_parts_shows_texts():
    """Llava's reads parts alone and leaves texts out."""
    tokenizer, made = chosen(
        "{% for message in messages %}{{ message['role'] }}: "
        "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] }}"
        "{% endfor %}</s>{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
    )
    assert tokenizer.chat_template == made.chat_template
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]
    assert template.split(made, messages) == ("user: Hi</s>assistant: ", "Yes</s>")
    parts = [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in messages]
    assert template.render(made, parts, False) == template.render(made, messages, False)


def test_a_template_that_shows_texts_stays_as_it_is():
    assert chosen(CHATML)[1].chat_template == CHATML
