"""The text of a row is that of the playground, or the job is refused with both."""

import json
import shutil
from pathlib import Path

import pytest

from trainer.data.renderings import compare_renderings
from trainer.data.rows import job_rows
from trainer.data.template import save
from trainer.preview.preview import open_job
from trainer.protocol.failures import Failure
from trainer.tests import jobs, tiny
from trainer.tests.chat import ONE_CALL, SYSTEM, TOOL_CASES, equip

TEMPLATES = json.loads((Path(__file__).parent / "templates.json").read_text("utf-8"))
# What the two languages take differently: white space, line ends, code points, letters.
TEXTS = [
    "plain",
    "\n\n begins",
    "ends \n\n",
    "\u00a0no break\u00a0",
    "\ufeffmark\ufeff",
    "\x1cseparated\x85",
    "a\r\nb\x0bc\u2028d\n",
    "~tilde\tq zz",
    "a</think>\n\nb",
    "😀 ½ İ ﬁ",
    " one two  three ",
    "",
]
METHODS = [
    "m.content.split() | join('|')",
    "m.content.split(none, 1) | join('|')",
    "m.content.rsplit(none, 1) | join('|')",
    "m.content.split('e', 1) | join('|')",
    "m.content.rsplit('e', 2) | join('|')",
    "m.content.splitlines(true) | join('|')",
    "m.content.partition('e') | join('|')",
    "m.content.rpartition('e') | join('|')",
    "m.content.strip('\\n pas') + m.content.rstrip('z')",
    "m.content.rfind('e') ~ m.content.find('one') ~ m.content[m.content.find('two'):]",
    "(m.content | length) ~ m.content.count('') ~ (m.content.isspace() | int) ~ (m.content.isdigit() | int)",
    "m.content.capitalize() + (m.content | capitalize)",
    "'{1}{{}}{0}{x}'.format(m.role, m.content, x=3)",
    "'%s %d%%' % (m.content, 3) + '%s' | format(m.role) + 'ab' * 2 + 2 * 'c'",
    "m | tojson(ensure_ascii=True, sort_keys=True) + m | tojson(indent=2)",
    "(range(1, 7, 2) | list | length) ~ ((m.content is string) | int) ~ loop.index0",
]


@pytest.fixture
def compare(tmp_path, models):
    """Compares the renderings of rows with a template."""
    base = models("llama")

    def check(template, rows, **settings):
        folder = shutil.copytree(base, tmp_path / "model")
        tokenizer = tiny.build_tokenizer(300)
        tokenizer.chat_template = template
        tokenizer.save_pretrained(folder)
        job = open_job(str(jobs.make(tmp_path / "job", folder, rows, **settings)), [], False)
        save(job.template, "text-generation", tmp_path / "template.json")
        compare_renderings(job, job_rows(job), tmp_path / "template.json")

    return check


ROWS = [{"messages": [{"role": "user", "content": t}, {"role": "assistant", "content": t}]} for t in TEXTS]


@pytest.mark.parametrize("name", TEMPLATES)
def test_both_renderers_write_the_same_text(compare, name):
    compare(TEMPLATES[name], ROWS)


@pytest.mark.parametrize("name", TOOL_CASES)
def test_both_renderers_write_the_same_tools_calls_and_results(compare, name):
    row = TOOL_CASES[name][1]
    strange = {
        "x": 2.0,
        "y": [1e-7, 0.00001, -2.5e-5, "1e-05", None, True],
        "z": {"ü": "a\"<b>'", "n": "line\n"},
    }
    calls = [{"id": "call_x", "type": "function", "function": {"name": "weather", "arguments": strange}}]
    odd = [SYSTEM, ONE_CALL[0], {"role": "assistant", "tool_calls": calls}]
    rows = [
        row,
        {**row, "messages": [{**one, "name": "ignored"} for one in ONE_CALL]},
        {**row, "messages": odd},
    ]
    compare(equip(tiny.build_tokenizer(300), name).chat_template, rows)


def test_strings_have_python_s_methods_in_both(compare):
    parts = "".join(f"{{{{ {method} }}}}\n" for method in METHODS)
    compare("{% for m in messages %}" + parts + "{% endfor %}{{ '---' if add_generation_prompt }}", ROWS)


def test_a_difference_is_refused_with_the_line_and_both_texts(compare):
    title = "{% for m in messages %}{{ m.content | title }}\n{% endfor %}{{ eos_token }}"
    rows = [{"input": text, "output": "ok"} for text in ("one two", "three four", "it isn't five", "six")]
    with pytest.raises(Failure) as caught:
        compare(title, rows)
    assert caught.value.code == "bad_tokenizer"
    assert caught.value.message.startswith("Line 3 of the dataset")
    assert "It Isn't Five" in caught.value.message and "It Isn'T Five" in caught.value.message
    assert "use_chat_template" in caught.value.advice


def test_what_only_the_trainer_can_render_is_refused(compare):
    with pytest.raises(Failure, match=r"Line 1 of the dataset.*wordcount"):
        compare("{% for m in messages %}{{ m.content }} {{ m.content | wordcount }}{% endfor %}", ROWS)


def test_what_only_the_trainer_can_read_is_refused(compare):
    with pytest.raises(Failure, match=r"playground cannot read .*chat template"):
        compare(
            "{% for m in messages %}{{ m.content }}{% endfor %}{% with a = 1 %}{{ a }}{% endwith %}", ROWS
        )


def test_hone_s_own_template_is_equal_instead(compare):
    compare("{{ messages[0].content | title }}", ROWS, use_chat_template=False)


def test_an_export_is_dropped_where_the_engine_cannot_normalize(tmp_path, models):
    from tokenizers import normalizers

    folder = shutil.copytree(models("llama"), tmp_path / "model")
    tokenizer = tiny.build_tokenizer(300)
    tokenizer.backend_tokenizer.normalizer = normalizers.StripAccents()
    tokenizer.save_pretrained(folder)
    for required in (False, True):
        top = {"export": {"quantizations": ["Q8_0"], "required": required}}
        spec = str(jobs.make(tmp_path / f"job-{required}", folder, top=top))
        if required:
            with pytest.raises(Failure, match="StripAccents"):
                open_job(spec, [], False)
            continue
        job = open_job(spec, [], False)
        assert job.spec.export is None
        journal = (job.folder / "journal.jsonl").read_text("utf-8")
        assert "no_gguf" in journal and "StripAccents" in journal


def test_the_preview_is_refused_likewise(tmp_path, models, capsys):
    from trainer.preview.preview import preview

    folder = shutil.copytree(models("llama"), tmp_path / "model")
    tokenizer = tiny.build_tokenizer(300)
    tokenizer.chat_template = "{% for m in messages %}{{ m.content | title }}\n{% endfor %}{{ eos_token }}"
    tokenizer.save_pretrained(folder)
    rows = [{"input": "it isn't five", "output": "ok"}]
    assert preview(str(jobs.make(tmp_path / "job", folder, rows)), 1) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["failed"]["code"] == "bad_tokenizer" and "Line 1" in said["failed"]["message"]
