"""Rows of preferences: texts, or conversations."""

import io
import json
from contextlib import redirect_stdout

import pytest

from trainer.data import pairs
from trainer.data.rows import read_rows
from trainer.preview.preview import preview
from trainer.protocol.failures import Failure
from trainer.tests import jobs

USER = {"role": "user", "content": "Where is it?"}
ANSWER = {"role": "assistant", "content": "team: shipping", "weight": 1}
PLAIN = {"prompt": "Where is it?", "chosen": "team: shipping", "rejected": "team: access"}
TALK = {
    "prompt": [
        {"role": "system", "content": "Sort."},
        USER,
        ANSWER,
        {"role": "user", "content": "And this?"},
    ],
    "chosen": [{"role": "assistant", "content": "team: billing"}],
    "rejected": "team: access",
}


def test_messages_of_one_text_are_those_of_the_text():
    lists = {**PLAIN, "prompt": [USER], "chosen": [ANSWER]}
    for answer in ("chosen", "rejected"):
        assert pairs.messages(None, lists, answer) == pairs.messages(None, PLAIN, answer)
    assert pairs.messages(None, PLAIN, "rejected") == [USER, {"role": "assistant", "content": "team: access"}]


def test_earlier_answers_are_not_learned():
    *earlier, last = pairs.conversation(TALK)
    assert [turn.get("weight") for turn in earlier] == [None, None, 0, None]
    assert last == {"role": "assistant", "content": "team: billing"}
    assert TALK["prompt"][2]["weight"] == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prompt": [USER, ANSWER]}, "the field prompt must end with a message of the user"),
        ({"prompt": []}, "the field prompt must be a list of messages"),
        (
            {"prompt": [{"role": "robot", "content": "1"}]},
            "the field prompt has a message whose role is none of",
        ),
        ({"chosen": [ANSWER, ANSWER]}, "the field chosen must have one message, of the assistant"),
        ({"rejected": [USER]}, "the field rejected must have one message, of the assistant"),
        (
            {"rejected": [{"role": "assistant"}]},
            "the field rejected has a message whose content is not a string",
        ),
        ({"rejected": 3}, "the field rejected must be a string or a list of messages"),
    ],
)
def test_a_bad_row_is_named_by_line_and_field(tmp_path, changes, words):
    path = tmp_path / "rows.jsonl"
    rows = [PLAIN, TALK, {**TALK, **changes}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(Failure) as caught:
        list(read_rows(path, ("prompt", "chosen", "rejected")))
    assert caught.value.code == "bad_dataset_row"
    assert caught.value.message.startswith("Line 3 of the dataset: ") and words in caught.value.message


def test_the_preview_shows_the_conversation_of_which_the_chosen_answer_is_learned(models, tmp_path):
    top = {"strategy": "dpo"}
    spec = jobs.make(tmp_path, models("llama", "chatml"), [PLAIN, TALK, *[PLAIN] * 10], top=top)
    out = io.StringIO()
    with redirect_stdout(out):
        assert preview(str(spec), 2) == 0
    plain, talk = json.loads(out.getvalue())["rows"]
    assert plain["messages"] is None
    assert [message["learned"] for message in talk["messages"]] == [False] * 4 + [True]
    learned = "".join(token["text"] for token in talk["tokens"] if token["labelled"])
    assert learned == "team: billing<|im_end|>"
