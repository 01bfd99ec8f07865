"""Training on conversations and on text."""

import io
import json
from contextlib import redirect_stdout

import pytest

from trainer.preview.preview import preview
from trainer.tests import jobs, tiny

ANSWERS = [{"input": text, "output": reply} for text, reply in tiny.sentences(24)]


def conversation(row, *more):
    user, assistant = {"role": "user"}, {"role": "assistant"}
    return {
        "messages": [
            turn
            for pair in (row, *more)
            for turn in ({**user, "content": pair["input"]}, {**assistant, "content": pair["output"]})
        ]
    }


def warnings(spec):
    return {line["code"]: line["message"] for line in jobs.journal(spec, "warning")}


@pytest.mark.parametrize("packing", [False, True])
def test_a_conversation_of_one_turn_trains_as_the_same_input_and_output(models, tmp_path, packing):
    model = models("llama", "chatml")
    plain = jobs.make(tmp_path / "plain", model, ANSWERS, packing=packing)
    chats = jobs.make(tmp_path / "chats", model, [conversation(row) for row in ANSWERS], packing=packing)
    assert jobs.train(plain) == jobs.train(chats) == 0
    assert jobs.losses(plain) == jobs.losses(chats)


def test_every_turn_is_learned_and_a_long_conversation_is_cut(models, tmp_path):
    turns = [conversation(*ANSWERS[at : at + 3]) for at in range(0, 24, 3)] * 4
    # Too long from its first prompt on: nothing of it is left.
    turns[5] = conversation({"input": "long " * 100, "output": "team: billing"})
    spec = jobs.make(
        tmp_path, models("llama", "chatml"), turns, max_seq_length=80, eval_split=0.25, num_train_epochs=6
    )
    assert jobs.train(spec) == 0
    losses = jobs.losses(spec)
    assert losses[max(losses)] < losses[1] - 1
    truncated = warnings(spec)["rows_truncated"]
    assert truncated.endswith("1 of them lose their whole answer and are dropped.")
    sample = jobs.journal(spec, "sample")[-1]
    # The whole conversation before its last answer is asked.
    assert sample["prompt"].startswith("user: ") and "\n\nassistant: team: " in sample["prompt"]
    assert sample["text"].startswith("team: ")


def test_turns_that_change_later_are_sequences_of_one_split_and_it_is_said(models, tmp_path):
    model = tiny.build("llama", tmp_path / "model", "chatml")
    # Earlier answers are left out, as some templates do with thoughts.
    kept = "{{ message['content'] if loop.last or message['role'] == 'user' }}"
    template = tiny.CHATML.replace("{{ message['content'] }}", kept)
    (model / "chat_template.jinja").write_text(template)
    rows = [conversation(*ANSWERS[at : at + 2]) for at in range(12)]
    spec = jobs.make(tmp_path / "job", model, rows, eval_split=0.25)
    assert jobs.train(spec) == 0
    assert warnings(spec)["conversations_split"].startswith(
        "12 conversations are trained as 24 sequences, because the model's chat template"
    )
    # Nine conversations with two sequences each, in batches of four.
    assert jobs.journal(spec, "done")[0]["step"] == 5
    assert {line["total_steps"] for line in jobs.journal(spec, "metric")} == {5}
    seen = previewed(spec, 2)
    assert seen["warning"].startswith("12 conversations are trained as 24 sequences")
    assert [row["line"] for row in seen["rows"]] == [1, 1, 2, 2]


def test_a_text_is_continued_and_a_long_one_is_split(models, tmp_path):
    model = models("llama")
    texts = [{"text": f"{row['input']} {row['output']}. " * 6} for row in ANSWERS]
    spec = jobs.make(
        tmp_path, model, [*texts, {"text": ""}], max_seq_length=32, eval_split=0.25, num_train_epochs=4
    )
    assert jobs.train(spec) == 0
    assert warnings(spec).keys() == {"rows_left_out"}
    losses = jobs.losses(spec)
    assert losses[max(losses)] < losses[1] - 1
    # Each text becomes several sequences, so there are more steps than batches of rows.
    assert max(losses) > 4 * 18 / 4
    sample = jobs.journal(spec, "sample")[-1]
    assert texts[0]["text"][:2].isalpha() and any(row["text"].startswith(sample["prompt"]) for row in texts)
    assert sample["text"]
    template = json.loads((spec.parent / "artifacts" / "template.json").read_text())
    assert template["source"] == "hone"
    (row,) = previewed(spec, 1)["rows"]
    assert row["messages"] is None and row["labelled_tokens"] == row["total_tokens"] - 1


def previewed(spec, count):
    out = io.StringIO()
    with redirect_stdout(out):
        preview(str(spec), count)
    return json.loads(out.getvalue())


def test_the_preview_shows_a_chat_with_what_is_learned(models, tmp_path):
    messages = conversation(*ANSWERS[:3])["messages"]
    messages[1]["weight"] = 0
    spec = jobs.make(tmp_path, models("llama", "chatml"), [{"messages": messages}] * 12)
    seen = previewed(spec, 2)
    assert seen["warning"] is None
    assert [row["line"] for row in seen["rows"]] == [1, 2]
    row = seen["rows"][0]
    assert [turn["learned"] for turn in row["messages"]] == [False, False, False, True, False, True]
    learned = "".join(token["text"] for token in row["tokens"] if token["labelled"])
    assert learned == f"{ANSWERS[1]['output']}<|im_end|>{ANSWERS[2]['output']}<|im_end|>"
    assert row["labelled_tokens"] == sum(token["labelled"] for token in row["tokens"])


def test_a_conversation_that_the_template_refuses_is_told_by_line(models, tmp_path):
    model = tiny.build("llama", tmp_path / "model", "chatml")
    strict = (
        "{% for m in messages %}{% if loop.previtem is defined and loop.previtem.role == m.role %}"
        "{{ raise_exception('Roles must alternate') }}{% endif %}{% endfor %}"
    )
    (model / "chat_template.jinja").write_text(strict + tiny.CHATML)
    twice = conversation(ANSWERS[0])
    twice["messages"].insert(0, twice["messages"][0])
    rows = [conversation(row) for row in ANSWERS]
    spec = jobs.make(tmp_path / "job", model, [*rows[:7], twice, *rows])
    assert jobs.train(spec) == 1
    (failed,) = jobs.journal(spec, "failed")
    assert (
        failed["message"].startswith("Line 8 of the dataset: ")
        and "Roles must alternate" in failed["message"]
    )
    assert not jobs.journal(spec, "metric")
    assert "Line 8 of the dataset" in previewed(spec, 1)["failed"]["message"]
    declined = jobs.make(tmp_path / "declined", model, [*rows[:7], twice, *rows], use_chat_template=False)
    assert "failed" not in previewed(declined, 1)


# In the manner of Hermes.
CALLING = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for call in m.tool_calls or [] %}"
    "<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALL = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": '{"id":7}'}}
TOOLS = {
    "tools": [{"type": "function", "function": {"name": "find"}}],
    "messages": [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "team: billing"},
        {"role": "assistant", "content": "team: shipping"},
    ],
}
WRITTEN = '<tool_call>{"name": "find", "arguments": {"id": 7}}</tool_call>'


def test_tool_calls_are_trained_and_previewed_and_their_results_are_not_learned(tmp_path):
    model = tiny.build("llama", tmp_path / "model", "chatml")
    (model / "chat_template.jinja").write_text(CALLING)
    asks = {**TOOLS, "messages": TOOLS["messages"][:2]}
    spec = jobs.make(tmp_path / "job", model, [asks, TOOLS] * 6)
    seen = previewed(spec, 2)["rows"][1]
    assert [(turn["role"], turn["learned"]) for turn in seen["messages"]] == [
        *(("user", False), ("assistant", True), ("tool", False), ("assistant", True))
    ]
    assert seen["messages"][1]["tool_calls"] == [{"name": "find", "arguments": '{"id":7}'}]
    learned = "".join(token["text"] for token in seen["tokens"] if token["labelled"])
    assert learned == f"{WRITTEN}<|im_end|>team: shipping<|im_end|>"
    assert jobs.train(spec) == 0
    references = {line["reference"] for line in jobs.journal(spec, "sample")}
    assert references == {WRITTEN, "team: shipping"}


def test_a_template_without_tools_is_refused_before_the_training(models, tmp_path):
    spec = jobs.make(tmp_path, models("llama", "chatml"), [conversation(ANSWERS[0]), TOOLS] * 6)
    failed = previewed(spec, 1)["failed"]
    assert failed["message"].startswith("Line 2 of the dataset: The model's chat template writes no tools")
    assert "choose a model whose chat template has tools" in failed["advice"]
    assert jobs.train(spec) == 1
    assert jobs.journal(spec, "failed")[0]["message"] == failed["message"]
    assert not jobs.journal(spec, "metric")


HERMES = '<tool_call>\n{"name": "find", "arguments": {"id": 7}}\n</tool_call>'


def test_tools_are_trained_in_the_syntax_of_hermes(tmp_path):
    model = tiny.build("llama", tmp_path / "model", "chatml", context=1024)
    spec = jobs.make(tmp_path / "job", model, [TOOLS] * 12, tool_syntax="hermes")
    (seen, *_) = previewed(spec, 1)["rows"]
    learned = "".join(token["text"] for token in seen["tokens"] if token["labelled"])
    assert learned == f"{HERMES}<|im_end|>team: shipping<|im_end|>"
    assert jobs.train(spec) == 0
    stored = json.loads((spec.parent / "artifacts" / "template.json").read_text("utf-8"))
    assert stored["tools"]["tools"] and stored["source"] == "model"
    adapter = spec.parent / "artifacts" / "adapter"
    assert (adapter / "chat_template.jinja").read_text("utf-8") == stored["chat_template"]


def test_preferences_of_calls_are_trained(tmp_path):
    model = tiny.build("llama", tmp_path / "model", "chatml", context=1024)
    asked, called = TOOLS["messages"][:2]
    other = {**CALL, "function": {"name": "find", "arguments": '{"id":8}'}}
    row = {
        "tools": TOOLS["tools"],
        "prompt": [asked],
        "chosen": [called],
        "rejected": [{**called, "tool_calls": [other]}],
    }
    after = {**row, "prompt": TOOLS["messages"][:3], "chosen": "team: shipping", "rejected": "No."}
    spec = jobs.make(
        tmp_path / "job",
        model,
        [row, after] * 6,
        top={"strategy": "dpo"},
        tool_syntax="hermes",
        num_train_epochs=8,
    )
    assert jobs.train(spec) == 0
    losses = jobs.losses(spec)
    assert losses[max(losses)] < losses[1]


@pytest.mark.parametrize("row", [conversation(ANSWERS[0]), {"text": "Once."}])
def test_an_encoder_decoder_is_refused(models, tmp_path, row):
    spec = jobs.make(tmp_path, models("t5"), [row] * 12)
    assert jobs.train(spec) == 1
    assert "reads one input and writes one output" in jobs.journal(spec, "failed")[0]["message"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"messages": "hello"}, "must be a list of messages"),
        ({"messages": []}, "must be a list of messages"),
        ({"messages": [{"role": "robot", "content": ""}]}, "role is none of"),
        ({"messages": [{"role": "user", "content": 1}]}, "content is not a string"),
        ({"messages": [{"role": "user", "content": "a"}]}, "no message of the assistant to learn"),
        ({"text": 1}, "must be a string"),
    ],
)
def test_a_row_that_the_service_would_refuse_is_refused_here_too(models, tmp_path, row, words):
    spec = jobs.make(tmp_path, models("llama"), [row] * 12)
    failed = previewed(spec, 1)["failed"]
    assert failed["code"] == "bad_dataset_row"
    assert "Line 1" in failed["message"] and words in failed["message"]
