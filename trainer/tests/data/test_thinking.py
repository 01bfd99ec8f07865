"""Reasoning is trained where it is to be, in the template's own way, and dropped nowhere in silence."""

import json
import shutil

import pytest

from trainer.data import channels, template, thinking
from trainer.data.conversations import turns
from trainer.data.encode import IGNORED, encode_conversations
from trainer.data.renderings import compare_renderings
from trainer.data.rows import job_rows
from trainer.preview.preview import open_job
from trainer.tests import jobs, tiny
from trainer.tests.chat import PUBLISHED, render_as_playground
from trainer.tests.data.test_template import THINKING
from trainer.tests.tiny import CHANNELS, CHATML, build_tokenizer

QUESTION = {"role": "user", "content": "2 + 3?"}
THOUGHT = {"role": "assistant", "content": "5", "reasoning_content": "Two and three."}
INLINE = {"role": "assistant", "content": "<think>\nTwo and three.\n</think>\n\n5"}
PLAIN = {"role": "assistant", "content": "5"}
# As DeepSeek's distilled models: the prompt begins the reasoning, and a conversation has none.
OPENING = (
    "{% for m in messages %}{% set content = m.content.split('</think>')[-1].strip() %}"
    "<|im_start|>{{ m.role }}\n{{ content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)
QWEN3 = (PUBLISHED / "qwen3.jinja").read_text("utf-8")
TEMPLATES = {"qwen3": QWEN3, "opening": OPENING, "chatml": CHATML, "hone": None}


def chosen(text, mode):
    tokenizer = build_tokenizer(300, "channels" if channels.in_channels(text or "") else None)
    tokenizer.chat_template = text
    return template.choose(tokenizer, {}, None, mode)


def halves(text, mode, *messages):
    made = chosen(text, mode)
    given = [thinking.plain(made.thinking, message) for message in messages]
    return template.split(made, given)


@pytest.mark.parametrize("answer", [THOUGHT, INLINE])
@pytest.mark.parametrize("name", TEMPLATES)
def test_learn_trains_the_reasoning_after_the_prompt(name, answer):
    prompt, completion = halves(TEMPLATES[name], "learn", QUESTION, answer)
    written = (prompt + completion)[prompt.rfind("2 + 3?") :]
    assert "<think>\nTwo and three.\n</think>\n\n5" in written
    assert "Two and three." in completion and "Two and three." not in prompt


@pytest.mark.parametrize("answer", [THOUGHT, INLINE, PLAIN])
@pytest.mark.parametrize("mode", ["keep", "off"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_keep_and_off_train_the_answer_alone(name, mode, answer):
    prompt, completion = halves(TEMPLATES[name], mode, QUESTION, answer)
    assert "Two and three." not in prompt + completion
    if mode == "off":
        assert completion.startswith("5") and ("<think>" in prompt) == (name in ("qwen3", "opening"))
    else:
        assert ("</think>" in completion) == (name in ("qwen3", "opening"))


def test_an_answer_may_end_reasoning_that_it_does_not_have():
    # As GLM 4.7.
    ending = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ '</think>' if m.role == 'assistant' }}"
        "{{ m.content }}<|im_end|>{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n<think>{% endif %}"
    )
    assert halves(ending, "keep", QUESTION, PLAIN)[1] == "</think>5<|im_end|>"


def test_earlier_reasoning_is_kept_or_dropped_as_the_template_does():
    talk = [QUESTION, THOUGHT, {"role": "user", "content": "And 3 + 4?"}, {**THOUGHT, "content": "7"}]
    assert halves(QWEN3, "learn", *talk)[0].count("Two and three.") == 0
    assert halves(CHATML, "learn", *talk)[0].count("Two and three.") == 1


def test_a_request_can_say_otherwise():
    for mode, other in (("off", True), ("learn", False), ("keep", False)):
        made = chosen(THINKING, mode)
        assert made.thinking["switch"] == "enable_thinking"
        here = template.render(made, [QUESTION], True)
        there = template.render(made, [QUESTION], True, {"enable_thinking": other})
        assert ("</think>" in here, "</think>" in there) == (mode == "off", not other)


def test_whether_a_prompt_begins_the_reasoning_is_stored():
    assert chosen(OPENING, "learn").thinking["opens"] is True
    assert chosen(OPENING, "off").thinking["opens"] is False
    assert chosen(QWEN3, "learn").thinking["opens"] is False
    assert chosen("{{ messages[0].content }}[/THINK]", "keep").thinking["open"] == "[THINK]"


def test_every_token_of_reasoning_is_learned():
    tokenizer = build_tokenizer(300)
    tokenizer.chat_template = OPENING
    made = template.choose(tokenizer, {}, None, "learn")
    ((row,),) = encode_conversations(tokenizer, made, [[QUESTION, THOUGHT]])
    learned = [token for token, label in zip(row.input_ids, row.labels, strict=True) if label != IGNORED]
    assert tokenizer.decode(learned) == "Two and three.\n</think>\n\n5<|im_end|>"


def test_an_answer_is_read_without_its_reasoning():
    described = chosen(OPENING, "learn").thinking
    assert thinking.without_reasoning(described, "so\n</think>\n\n5", True) == "5"
    assert thinking.without_reasoning(described, "<think>so</think>5", False) == "5"
    assert thinking.without_reasoning(described, "<think>so it", False) == ""
    assert thinking.without_reasoning(described, "5 </think>", False) == "5 </think>"
    assert thinking.without_reasoning(None, "<think>so</think>5", False) == "<think>so</think>5"


@pytest.mark.parametrize("name", ["qwen3", "opening", "chatml"])
@pytest.mark.parametrize(("setting", "mode", "warned"), [(None, "learn", 0), ("off", "off", 2)])
def test_the_rows_decide_and_what_is_dropped_is_said(models, tmp_path, name, setting, mode, warned):
    folder = shutil.copytree(models("llama"), tmp_path / "model")
    tokenizer = tiny.build_tokenizer(300)
    tokenizer.chat_template = TEMPLATES[name]
    tokenizer.save_pretrained(folder)
    rows = [{"messages": [QUESTION, answer]} for answer in (THOUGHT, INLINE, PLAIN)]
    job = open_job(str(jobs.make(tmp_path / "job", folder, rows, thinking=setting)), [], False)
    assert job.template.thinking["mode"] == mode
    journal = (job.folder / "journal.jsonl").read_text("utf-8").splitlines()
    said = [json.loads(line) for line in journal if "reasoning_dropped" in line]
    assert [f"of {warned} rows" in line["message"] for line in said] == ([True] if warned else [])
    template.save(job.template, "text-generation", tmp_path / "template.json")
    compare_renderings(job, job_rows(job), tmp_path / "template.json")


def test_every_published_template_trains_in_every_mode(tmp_path):
    tokenizer = build_tokenizer(300)
    talk = [QUESTION, THOUGHT, QUESTION, THOUGHT]
    asked, expected = [], []
    for path in sorted(PUBLISHED.glob("*.jinja")):
        for mode in ("keep", "off", "learn"):
            tokenizer.chat_template = path.read_text("utf-8")
            made = template.choose(tokenizer, {}, None, mode)
            stored = tmp_path / f"{path.stem}-{mode}.json"
            template.save(made, "text-generation", stored)
            for turn, at in zip(turns(made, talk), (1, 3), strict=True):
                assert ("Two and three." in turn.completion) == (mode == "learn"), stored.stem
                asked.append((stored, [thinking.plain(made.thinking, message) for message in talk[:at]]))
                expected.append(turn.prompt)
    assert len(asked) > 300
    assert render_as_playground(asked) == expected


GPT_OSS = {"own": CHANNELS, "gpt-oss": (PUBLISHED / "gptoss.jinja").read_text("utf-8")}
IN_CHANNELS = {
    "role": "assistant",
    "content": "<|channel|>analysis<|message|>Two and three.<|end|><|start|>assistant"
    "<|channel|>final<|message|>5<|return|>",
}


@pytest.mark.parametrize("answer", [THOUGHT, INLINE, IN_CHANNELS])
@pytest.mark.parametrize("name", GPT_OSS)
def test_learn_trains_both_channels(name, answer):
    prompt, completion = halves(GPT_OSS[name], "learn", QUESTION, answer)
    assert prompt.endswith("<|start|>assistant")
    assert completion == IN_CHANNELS["content"]


@pytest.mark.parametrize("answer", [THOUGHT, INLINE, IN_CHANNELS, PLAIN])
@pytest.mark.parametrize("name", GPT_OSS)
def test_keep_and_off_train_the_final_channel_alone(name, answer):
    prompt, completion = halves(GPT_OSS[name], "keep", QUESTION, answer)
    assert prompt.endswith("<|start|>assistant")
    assert completion == "<|channel|>final<|message|>5<|return|>"
    prompt, completion = halves(GPT_OSS[name], "off", QUESTION, answer)
    assert prompt.endswith("<|start|>assistant<|channel|>final<|message|>")
    assert completion == "5<|return|>"


@pytest.mark.parametrize("name", GPT_OSS)
def test_a_request_chooses_the_channel(name):
    off = chosen(GPT_OSS[name], "off")
    asked = template.render(off, [QUESTION], True, {off.thinking["switch"]: True})
    assert asked.endswith("<|start|>assistant")
    for mode in ("keep", "learn"):
        made = chosen(GPT_OSS[name], mode)
        prompt = template.render(made, [QUESTION], True)
        assert made.thinking["switch"] is None
        assert thinking.without_switch(made.thinking, prompt) == channels.FINAL
    assert thinking.without_switch(off.thinking, template.render(off, [QUESTION], True)) == ""


def test_earlier_reasoning_in_a_channel_is_dropped():
    talk = [QUESTION, THOUGHT, {"role": "user", "content": "And 3 + 4?"}, {**THOUGHT, "content": "7"}]
    prompt, completion = halves(CHANNELS, "learn", *talk)
    assert "Two and three." not in prompt
    assert completion.count("Two and three.") == 1


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        (IN_CHANNELS["content"], ("Two and three.", "5")),
        ("<|channel|>final<|message|>5", ("", "5")),
        ("5", ("", "5")),
        ("<|channel|>analysis<|message|>Two and", ("Two and", "")),
        ("<|channel|>analysis<|message|>a<|end|><|channel|>analysis<|message|>b<|end|>5", ("a\nb", "5")),
        (
            "<|channel|>commentary to=functions.add <|constrain|>json<|message|>{}<|call|>",
            ("", "{}"),
        ),
        ("<|channel|>analysis<|message|>so<|channel|>final<|message|>5", ("so", "5")),
        # Cut off.
        ("<|channel|>ana", ("", "")),
        ("<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>fi", ("so", "")),
        # Without the token that begins a message, which is hidden in answers.
        ("<|channel|>analysis<|message|>so<|end|>assistant<|channel|>final<|message|>5", ("so", "5")),
    ],
)
def test_answers_in_channels_are_read(answer, parts):
    assert channels.separated(answer) == parts
    described = chosen(CHANNELS, "keep").thinking
    assert thinking.without_reasoning(described, answer, False) == parts[1]


def test_the_tags_of_reasoning_are_not_hidden():
    tokenizer = build_tokenizer(300, "channels")
    described = template.choose(tokenizer, {}, None, "learn").thinking
    ids = tokenizer("<pad><|channel|>analysis<|message|>so<|end|><|start|>assistant 5<|im_end|>").input_ids
    shown = thinking.decoder(tokenizer, described)(ids)
    assert shown == "<|channel|>analysis<|message|>so<|end|>assistant 5"
    chatml = template.choose(build_tokenizer(300, "chatml"), {}, None, "learn").thinking
    assert thinking.decoder(tokenizer, chatml)(ids) == "analysisso" + "assistant 5"
