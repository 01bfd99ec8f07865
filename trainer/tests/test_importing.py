"""`trainer.importing` on odd files; test/api/imports.test.ts has the flow through the service."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from trainer.importing import containers, json_window
from trainer.importing.conversation import messages_of
from trainer.importing.faults import BadRow, Fault
from trainer.importing.proposal import propose
from trainer.importing.shapes import conversion_of
from trainer.importing.source import Source
from trainer.importing.template import Template
from trainer.importing.values import columns_of


def rows_of(path: Path, columns: list[str] | None = None) -> list[Any]:
    return [row for _, row in containers.read_rows(Source(path, 2**40), path.parent, columns)]


def write(folder: Path, content: str) -> Path:
    path = folder / "source"
    path.write_bytes(content.encode())
    return path


def test_an_array_is_read_the_same_however_its_text_is_cut(tmp_path, monkeypatch):
    rows = [
        {"input": 'a "quote", a \\ and \u00e9\U0001f600]', "output": {"deep": [1, -2.5e3, None, True]}},
        {},
        {"n": 12345678901234567890},
    ] * 3
    for indent in (None, 1):
        path = write(tmp_path, "\n " + json.dumps(rows, indent=indent) + "\n")
        for size in (*range(1, 40), 1000):
            monkeypatch.setattr(json_window, "TEXT_CHARACTERS", size)
            assert rows_of(path) == rows, size


def test_objects_of_an_array_that_begin_alike_keep_their_lines(tmp_path, monkeypatch):
    rows = [{"messages": [{"messages": [], "text": '},{"messages"'}] * (place % 3)} for place in range(40)]
    rows[20] = {"other": 1}
    texts = [json.dumps(row) for row in rows]
    pretty = texts[30].replace("[", "[\n", 1)
    # The lines of the first 31 rows: one for each, and all in one.
    for separator, lines in ((",\n", list(range(2, 33))), (",", [2] * 31)):
        path = write(tmp_path, "[\n" + separator.join([*texts[:30], pretty, *texts[31:]]) + "]")
        for size in (40, 200, 2**17):
            monkeypatch.setattr(containers, "BATCH_CHARACTERS", size)
            read = list(containers.read_rows(Source(path, 2**40), tmp_path))
            assert [row for _, row in read] == rows
            assert [line for line, _ in read][:31] == lines
            assert read[-1][0] == lines[-1] + 1 + (9 if separator == ",\n" else 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2", "cut short"),
        ('[{"a": 1},', "cut short"),
        ('[{"a": "never ended', "cut short"),
        ('[{"a": 1} {}]', "comma"),
        ('[{"a": 1}] more', "follows the end"),
        ('[{"a": 1},]', "comma stands before"),
        ('[{"a": tru}, {}' + " " * 100 + "]", "invalid JSON"),
        ("[" * 100_000, "deep|cut short"),
    ],
)
def test_a_damaged_array_is_told(tmp_path, text, words):
    with pytest.raises(Fault, match=words) as told:
        rows_of(write(tmp_path, text))
    assert told.value.line == 1


def test_elements_that_are_no_objects_are_bad_rows_one_by_one(tmp_path):
    found = rows_of(write(tmp_path, '[1, "a", null, [], {"a": "b"}]'))
    assert [type(row) for row in found] == [BadRow] * 4 + [dict]
    assert rows_of(write(tmp_path, "[ ]")) == []


def test_both_readers_of_csv_give_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "CSV_BLOCK_BYTES", 2**12)
    texts = [
        "",
        "plain",
        'a "quote"',
        "a,comma",
        "two\nlines",
        "two\r\nlines",
        " spaces ",
        "\u00e9\U0001f600",
        "\t;",
        "x" * 3000,
    ]
    table = [[texts[(place * step) % len(texts)] for step in (1, 3, 7)] for place in range(1, 200)]
    out = io.StringIO()
    csv.writer(out).writerows([["a", "b", "c"], *table])
    path = write(tmp_path, out.getvalue())
    wanted = [dict(zip("abc", values, strict=True)) for values in table]
    assert rows_of(path) == wanted
    assert rows_of(path, ["a", "b", "c"]) == wanted
    # A row that is longer than pyarrow's block, and one with too few values behind it.
    path.write_bytes(path.read_bytes() + b"a,b," + b"y" * 10_000 + b"\r\nfew,values\r\n")
    *rows, long, few = rows_of(path, ["a", "b", "c"])
    assert rows == wanted
    assert long["c"] == "y" * 10_000
    assert isinstance(few, BadRow)


def test_only_gzip_and_known_containers_are_read(tmp_path):
    for content, words in ((b"\x28\xb5\x2f\xfd", "Zstandard"), (b"a\0b", "binary"), (b"PAR1", "Parquet")):
        path = tmp_path / "other"
        path.write_bytes(content)
        with pytest.raises(Fault, match=words):
            rows_of(path)


def test_a_wrong_byte_is_found_behind_any_chunk(tmp_path):
    path = tmp_path / "latin"
    path.write_bytes(b"input,output\n" + b"aaaa,bbbb\n" * 60_000 + b"caf\xe9,b\n")
    for columns in (None, ["input", "output"]):
        with pytest.raises(Fault, match="its byte 4 is 0xe9") as told:
            rows_of(path, columns)
        assert told.value.line == 60_002
    path.write_bytes(b"\xff\xfe" + "input,output\n\u00e9,b\n".encode("utf-16-le") + b"\x00")
    with pytest.raises(Fault, match="UTF-16"):
        rows_of(path)


U, A = {"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def called(*identifiers: str) -> dict[str, Any]:
    function = {"name": "look", "arguments": '{"at": 1}'}
    calls = [{"id": one, "type": "function", "function": function} for one in identifiers]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def converted(row: dict[str, Any]) -> Any:
    conversion = conversion_of(None, list(row), row)
    assert conversion is not None
    return conversion.shape, conversion.convert(row)


def test_preferences_become_a_prompt_and_one_answer_each():
    wanted = {"prompt": [U], "chosen": [A], "rejected": [{**A, "content": "B"}]}
    bad = {"role": "assistant", "content": "B"}
    openai = {"input": {"messages": [U]}, "preferred_output": [A], "non_preferred_output": [bad]}
    assert converted(openai) == ("openai-preference", wanted)
    assert converted({"chosen": [U, A], "rejected": [U, bad]}) == ("preference", wanted)
    assert converted({"prompt": "U", "chosen": [A], "rejected": [bad]}) == ("preference", wanted)
    with pytest.raises(BadRow, match="rejected"):
        converted({"chosen": [U, A], "rejected": [{**U, "content": "V"}, bad]})
    tools = {"tools": [LOOK], "parallel_tool_calls": False}
    assert converted({**openai, "input": {"messages": [U], **tools}})[1] == {**wanted, **tools}


def test_conversations_without_an_answer_become_prompts_with_their_further_columns():
    developer, system = {"role": "developer", "content": "S"}, {"role": "system", "content": "S"}
    wanted = {"prompt": [system, U], "answer": {"a": 1}}
    assert converted({"messages": [developer, U], "answer": {"a": 1}}) == ("openai-prompts", wanted)
    assert converted({"messages": [U, A, U], "answer": "4"})[0] == "openai-prompts"
    assert converted({"messages": [U, A, U]})[0] == "messages"
    assert converted({"messages": [U, A], "answer": "4"})[0] == "messages"
    conversion = conversion_of(None, ["messages", "answer"], {"messages": [U], "answer": "4"})
    assert conversion is not None
    with pytest.raises(BadRow, match="does not end with"):
        conversion.convert({"messages": [U, A], "answer": "4"})


def said(identifier: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": "seen"}


BARE = LOOK["function"]
TEXT = json.dumps({"name": "look", "arguments": {"at": 1}})


@pytest.mark.parametrize(
    ("row", "turns"),
    [
        # OpenAI's, with its older names, and without IDs as on the hub.
        (
            {
                "messages": [U, {**called("c", "d"), "content": None}, said("d"), said("c"), A],
                "tools": [LOOK],
            },
            [U, called("c", "d"), said("d"), said("c"), A],
        ),
        (
            {
                "messages": [
                    U,
                    {
                        "role": "assistant",
                        "content": None,
                        "function_call": BARE | {"arguments": '{"at": 1}'},
                    },
                    {"role": "function", "name": "look", "content": "seen"},
                    A,
                ],
                "functions": [BARE],
            },
            [U, called("call_1"), said("call_1"), A],
        ),
        (
            {
                "messages": [
                    U,
                    {
                        **A,
                        "content": "",
                        "tool_calls": [{"function": {"name": "look", "arguments": {"at": 1}}}] * 2,
                    },
                    {"role": "tool", "name": "look", "content": "seen"},
                    {"role": "tool", "content": [{"type": "text", "text": "seen"}]},
                    A,
                ],
                "tools": json.dumps([LOOK]),
            },
            [U, called("call_1", "call_2"), said("call_1"), said("call_2"), A],
        ),
        # ShareGPT's, and the texts of Hermes.
        (
            {
                "conversations": [
                    {"from": "human", "value": "U"},
                    {"from": "function_call", "value": TEXT},
                    {"from": "observation", "value": "seen"},
                    {"from": "gpt", "value": "A"},
                ],
                "tools": json.dumps([BARE]),
            },
            [U, called("call_1"), said("call_1"), A],
        ),
        (
            {
                "conversations": [
                    {"from": "human", "value": "U"},
                    {
                        "from": "gpt",
                        "value": f"<tool_call>\n{TEXT}\n</tool_call>\n<tool_call>\n{TEXT}\n</tool_call>",
                    },
                    {"from": "tool", "value": "<tool_response>\nseen\n</tool_response>"},
                    {"from": "tool", "value": "seen"},
                    {"from": "gpt", "value": "A"},
                ],
                "tools": [json.dumps(BARE)],
            },
            [U, called("call_1", "call_2"), said("call_1"), said("call_2"), A],
        ),
    ],
)
def test_calls_of_tools_become_those_of_openai(row, turns):
    found = converted(row)[1]
    assert found == {"messages": turns, "tools": [LOOK]}


def test_a_completion_alone_is_learned_of_a_prompt_with_turns():
    shape, row = converted({"prompt": [U, A, U], "completion": [A]})
    assert (shape, row) == ("prompt-completion", {"messages": [U, {**A, "weight": 0}, U, A]})


def test_alpaca_with_a_system_message_and_history_is_a_conversation():
    row = {"instruction": "U", "input": "", "output": "A", "system": "S", "history": [["V", "B"]]}
    assert [turn["content"] for turn in converted(row)[1]["messages"]] == ["S", "V", "B", "U", "A"]


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([], "list of messages"),
        ("no JSON", "JSON list"),
        ([U], "no assistant"),
        ([U, {**A, "weight": 0}], "no assistant"),
        ([U, {**A, "weight": 0.5}], "weight"),
        ([U, {"role": "tool", "content": "A"}, A], "message 2 is the result of a tool that no"),
        ([U, {**A, "tool_calls": [{}]}], "message 2 has a call without the name"),
        ([U, {**A, "tool_calls": [{"name": "look", "arguments": "[1]"}]}], "message 2 calls look with"),
        ([{**U, "tool_calls": [{"name": "look"}]}, A], "message 1 calls tools, and is not"),
        ([U, {"role": "assistant", "content": None}], "no text"),
        ([U, {"content": "A"}], "role"),
        ([U, 5], "object"),
    ],
)
def test_conversations_that_cannot_be_learned_are_refused(turns, words):
    with pytest.raises(BadRow, match=words):
        messages_of(turns, "messages")


def test_columns_are_proposed_by_their_usual_names():
    def columns(*names: str, **values: Any) -> Any:
        found = propose([*names, *values], [{**dict.fromkeys(names, "text"), **values}])
        return found and (found.mapping["target"], *found.mapping["columns"].values())

    assert columns("id", "Question", "Response") == ("input-output", "Question", "Response")
    assert columns("context", "question", "answer") == ("question-answer", "context", "question", "answer")
    assert columns("text", "label") == ("input-output", "text", "label")
    assert columns("id", dialog=[U, A]) == ("messages", "dialog")
    assert columns("id", "text") == ("text", "text")
    assert columns("x", y=7) is None


ASK = [f"My {thing} has not come, what can I do?" for thing in ("lamp", "desk", "chair", "kettle")] * 3
REPLY = [f"We will look for the {thing} and write to you again." for thing in ("lamp", "desk", "bed")] * 4
TEAM = ["shipping", "billing", "access"] * 4
NUMBER = [f"T-{place}" for place in range(12)]
DAY = [f"2024-03-{place + 1:02}" for place in range(12)]


@pytest.mark.parametrize(
    ("table", "asked", "answer", "is_guess"),
    [
        ({"No.": NUMBER, "What did the customer ask?": ASK, "What did we answer?": REPLY}, 1, 2, False),
        ({"Answer to the question": REPLY, "ticket_id": NUMBER, "customerQuestion": ASK}, 2, 0, False),
        ({"Question category": TEAM, "Question": ASK, "date": DAY}, 1, 0, False),
        ({"Anfrage des Kunden": ASK, "Unsere Antwort": REPLY}, 0, 1, False),
        ({"Mensaje": ASK, "Respuesta": REPLY}, 0, 1, True),
        ({"when": DAY, "customer": ASK, "team": TEAM}, 1, 2, True),
        ({"a1": NUMBER, "b2": REPLY, "c3": ASK}, 2, 1, True),
        ({"b2": REPLY, "c3": TEAM, "d4": DAY}, 0, 1, True),
    ],
)
def test_columns_are_proposed_by_words_in_their_names_and_by_their_values(table, asked, answer, is_guess):
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    names = list(table)
    mapping = {"target": "input-output", "columns": {"input": names[asked], "output": names[answer]}}
    assert propose(columns_of(rows), rows) == (mapping, is_guess)


ROWS: list[dict[str, Any]] = [{"a": place, "b": {"c": "}]"}} for place in range(12)]


def test_the_first_answer_of_rows_as_those_of_squad_is_taken(tmp_path):
    row = {"id": "0", "title": "T", "context": "A lamp.", "question": "What?"}
    rows = [{**row, "answers": {"text": ["lamp", "A lamp"], "answer_start": [2, 0]}}] * 12
    rows.append({**row, "answers": {"text": [], "answer_start": []}})
    wanted = [{"context": "A lamp.", "question": "What?", "answer": "lamp"}] * 12
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    for path in (write(tmp_path, "\n".join(map(json.dumps, rows))), tmp_path / "rows.parquet"):
        found, told = run_import(path)
        assert found == wanted
        assert [event["column"] for event in told if event["event"] == "problem"] == ["answers.text.0"]


@pytest.mark.parametrize(
    ("wrapped", "key"),
    [
        ({"version": "1", "tags": ["a"], "few": [{"x": 1}], "data": ROWS, "more": {"z": [[]]}}, "data"),
        ({"page": {"of": {"items": ROWS}, "next": None}, "empty": []}, "page.of.items"),
        ({"messages": ROWS}, "messages"),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_rows_under_a_key_of_one_object_are_found(tmp_path, monkeypatch, wrapped, key, indent):
    path = write(tmp_path, json.dumps(wrapped, indent=indent) + "\n")
    for size in (7, 100, 2**20):
        monkeypatch.setattr(json_window, "TEXT_CHARACTERS", size)
        source = Source(path, 2**40)
        assert (source.container, ".".join(source.rows_at)) == ("json", key)
        read = list(containers.read_rows(source, tmp_path))
        assert [row for _, row in read] == ROWS
        lines = path.read_text().splitlines()
        assert indent is None or all(lines[line - 1].strip() == "{" for line, _ in read)


def test_another_list_of_one_object_can_be_chosen(tmp_path):
    path = write(tmp_path, json.dumps({"data": ROWS, "of": {"test": [{"x": 1}]}}))
    source = Source(path, 2**40, "of.test")
    assert source.lists == {"data": len(ROWS), "of.test": 1}
    assert [row for _, row in containers.read_rows(source, tmp_path)] == [{"x": 1}]
    with pytest.raises(Fault, match="no list of rows under the key"):
        Source(path, 2**40, "test")


@pytest.mark.parametrize("indent", [None, 1])
def test_questions_of_squads_own_json_are_rows(tmp_path, indent):
    def paragraph(text, *questions):
        return {"context": text, "qas": list(questions)}

    answers = [{"text": "Monday", "answer_start": 18}, {"text": "on Monday", "answer_start": 15}]
    first = {"id": "1", "question": "When?", "answers": answers}
    articles = [
        {
            "title": "A",
            "paragraphs": [paragraph("It left on Monday.", first, {**first, "id": "2", "answers": []})],
        },
        {"title": "B", "paragraphs": []},
        {
            "title": "C",
            "paragraphs": [paragraph("Nothing."), paragraph("It came.", {**first, "id": "3"}, "none")],
        },
    ]
    wanted = {
        **{"title": "A", "context": "It left on Monday.", "id": "1", "question": "When?"},
        "answers": {"text": ["Monday", "on Monday"], "answer_start": [18, 15]},
    }
    for value in ({"version": "1.1", "data": articles}, articles):
        path = write(tmp_path, json.dumps(value, indent=indent))
        rows = rows_of(path)
        assert rows[0] == wanted
        assert [row["id"] for row in rows if isinstance(row, dict)] == ["1", "2", "3"]
        assert len(rows) == 4
        found, _ = run_import(
            path,
            mapping={
                "target": "question-answer",
                "columns": {"context": "context", "question": "question", "answer": "answers.text.0"},
            },
        )
        assert found[0] == {"context": "It left on Monday.", "question": "When?", "answer": "Monday"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n "a": 1,\n "b": {"c": [1, 2]}}', "without a list of rows"),
        ('{\n "a": [{"b": 1}]\n}\n{\n "a": []\n}', "Line 4: a JSON object ends here, and more follows"),
        ('{\n "a": [{"b": 1}', "Line 2: invalid JSON"),
        ('{\n "a": [{"b": 1} {}]}', "Line 2: invalid JSON .a comma"),
        ('{\n "a": ' + "[" * 100_000, "nested too deeply|invalid JSON"),
    ],
)
def test_an_object_without_rows_or_a_damaged_one_is_told(tmp_path, text, words):
    with pytest.raises(Fault, match=words):
        rows_of(write(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    ['{"input": "a", "output": "b"}', '{"messages": [{"role": "user"}, {"role": "user"}]}', '{cut\n{"a": 1}'],
)
def test_objects_one_a_line_stay_rows(tmp_path, text):
    assert Source(write(tmp_path, text), 2**40).container == "jsonl"
    assert Source(write(tmp_path, '{"a": [{"b": 1}]}\n{"a": []}'), 2**40).container == "jsonl"
    assert Source(write(tmp_path, '{"a": "cut\n{"a": [{"b": 1}]}'), 2**40).container == "jsonl"


def test_tables_of_every_kind_have_names_of_labels_and_dates_as_text(tmp_path):
    import pyarrow as pa
    from pyarrow import feather, ipc, parquet

    day = datetime(2024, 1, 2, 12, 30, tzinfo=timezone.utc)
    feature = {"label": {"names": ["bad", "good"], "_type": "ClassLabel"}, "text": {"_type": "Value"}}
    schema = pa.schema(
        [
            ("text", pa.string()),
            ("label", pa.int64()),
            ("when", pa.timestamp("ns", "UTC")),
            ("day", pa.date32()),
            ("kind", pa.dictionary(pa.int8(), pa.string())),
            ("inner", pa.struct([("at", pa.timestamp("s"))])),
        ],
        {"huggingface": json.dumps({"info": {"features": feature}})},
    )
    row = {
        "text": "A",
        "when": day,
        "day": day.date(),
        "kind": "k",
        "inner": {"at": day.replace(tzinfo=None)},
    }
    table = pa.Table.from_pylist([{**row, "label": place % 3 - 1} for place in range(30)], schema)
    paths = [tmp_path / name for name in ("a.parquet", "a.feather", "file.arrow", "stream.arrow")]
    parquet.write_table(table, paths[0])
    feather.write_feather(table, paths[1], compression="zstd")
    with ipc.new_file(paths[2], schema) as file, ipc.new_stream(paths[3], schema) as stream:
        for batch in table.to_batches(max_chunksize=7):
            file.write_batch(batch)
            stream.write_batch(batch)
    paths.append(tmp_path / "packed")
    paths[-1].write_bytes(gzip.compress(paths[3].read_bytes()))
    templates = {"output": "{{label}} {{when}} {{day}} {{kind}} {{inner.at}}"}
    mapping = {"target": "input-output", "columns": {"input": "text"}, "templates": templates}
    dates = "2024-01-02T12:30:00+00:00 2024-01-02 k 2024-01-02T12:30:00"
    for path in paths:
        rows, told = run_import(path, mapping=mapping)
        assert [row["output"] for row in rows] == [f"bad {dates}", f"good {dates}"] * 10, path
        assert [event["line"] for event in told if event["event"] == "problem"] == list(range(1, 30, 3))
        assert {"name": "label", "type": "label"} in told[0]["columns"]
    rows, _ = run_import(paths[3], mapping={**mapping, "labels": "numbers"})
    assert [row["output"] for row in rows[:2]] == [f"-1 {dates}", f"0 {dates}"]
    whole = paths[3].read_bytes()
    paths[3].write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Fault, match="Arrow file cannot be read"):
        rows_of(paths[3])


@pytest.mark.parametrize(
    ("text", "row", "wanted"),
    [
        ("{{a}}: {{ b.c }}", {"a": "x", "b": {"c": 7}}, "x: 7"),
        ("{{a}}\n\n{{b}}\n\nAnswer:", {"a": "", "b": "y"}, "y\n\nAnswer:"),
        ("Text: {{a}}\n \n{{b}}", {"a": "x", "b": None}, "Text: x"),
        ("{{a}} {{b}}", {"a": "x", "b": ""}, "x "),
        ("{{a}} {{b}}", {"a": "x", "b": None}, "b"),
        ("{{a}}\n\n{{b}}", {"a": " "}, "a"),
        ("{{a}}", {"a": "{{b}}", "b": "never filled in"}, "{{b}}"),
        ("{{a}}", {"a": [1]}, "a"),
        (r"\{{a}} \\{{ {{a}}", {"a": "x"}, r"{{a}} \{{ x"),
    ],
)
def test_a_template_leaves_paragraphs_without_values_out_and_misses_any_other(text, row, wanted):
    if wanted in row:
        with pytest.raises(BadRow) as told:
            Template(text).of(row)
        assert told.value.column == wanted
    else:
        assert Template(text).of(row) == wanted


def test_a_context_and_a_system_prompt_beside_an_input_are_part_of_the_proposal(tmp_path):
    rows = [
        {
            "instruction": "Count them.",
            "context": "",
            "response": "Three.",
            "system": "Be brief.",
            "category": "qa",
        },
        {"instruction": "Count.", "context": "A, b.", "response": "Two.", "system": None, "category": "qa"},
    ] * 6
    found, told = run_import(write(tmp_path, json.dumps(rows)))
    assert told[0]["mapping"] == {
        "target": "input-output",
        "columns": {"output": "response"},
        "templates": {"input": "{{context}}\n\n{{instruction}}"},
        "system": "{{system}}",
    }
    assert [[turn["content"] for turn in row["messages"]] for row in found[:2]] == [
        ["Be brief.", "Count them.", "Three."],
        ["A, b.\n\nCount.", "Two."],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\nquestion;answer\n{}",
        "\ufeffSEP=|\r\nquestion|answer\r\n{}",
        '"question, or issue";"answer, if any"\n{}',
        "question|answer\n{}",
    ],
)
def test_the_separator_of_a_table_is_found(tmp_path, text, monkeypatch):
    monkeypatch.setattr(containers, "CSV_BLOCK_BYTES", 2**9)
    separator = "|" if "|" in text else ";"
    lines = [f'"My lamp, my desk, ({place})"{separator}"team: a, b"' for place in range(40)]
    path = write(tmp_path, text.format("\n".join(lines)))
    for columns in (None, list(rows_of(path)[0])):
        found = list(containers.read_rows(Source(path, 2**40), tmp_path, columns))
        first = 3 if text.lower().lstrip("\ufeff").startswith("sep") else 2
        assert [line for line, _ in found] == list(range(first, first + 40))
        assert [list(row.values()) for _, row in found][39] == ["My lamp, my desk, (39)", "team: a, b"]


def test_it_starts_without_torch_and_transformers():
    heavy = ("torch", "transformers", "pyarrow", "numpy")
    program = f"import sys, trainer.importing.main; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def run_import(path: Path, **changes: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What an import of `path` prints, and what it tells."""
    request = {"paths": [str(path)], "scratch": str(path.parent), "limit_bytes": 2**40, "mapping": None}
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "import"],
        input=json.dumps({**request, "run": True, "skip_invalid": True, **changes}).encode(),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.isascii()
    rows, told = ([json.loads(line) for line in out.splitlines()] for out in (done.stdout, done.stderr))
    return rows, told


def test_a_row_without_a_value_is_told_by_its_number_and_the_others_are_converted(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    answers: list[Any] = [f"answer {place}" for place in range(9000)]
    # The first and the last batch have no gap.
    answers[5000] = None
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"output": answers, "input": [str(place) for place in range(9000)]}), path)
    rows, told = run_import(path)
    wanted = [{"input": str(place), "output": answer} for place, answer in enumerate(answers) if answer]
    assert rows == wanted
    assert list(rows[0]) == ["input", "output"]
    problems = [event for event in told if event["event"] == "problem"]
    assert [(event["line"], event["column"]) for event in problems] == [(5001, "output")]
    cost = {"column": "output", "message": 'column "output" has no value', "rows": 1}
    assert told[-1] == {"event": "end", "rows": 8999, "skipped": 1, "problems": 1, "left_out": [cost]}
    _, (_, counted) = run_import(path, run=False)
    assert counted == {
        **{"event": "count", "rows": 9000, "is_exact": True, "checked": 9000, "fit": 8999},
        **{"left_out": [cost], "fault": None},
    }


def test_rows_of_an_array_are_converted_alike_one_by_one_or_many_at_once(tmp_path):
    """Most are decoded many at a time; some have an input, a number, no answer, or no place in UTF-8."""
    rows: list[dict[str, Any]] = [{"instruction": f"Say {place}", "output": "so"} for place in range(3000)]
    rows[700]["input"] = "loudly"
    rows[1400]["output"] = 7
    rows[2100] = {"instruction": "Say nothing", "output": None}
    rows[2800]["output"] = "\ud83d"
    wanted = [{"input": row["instruction"], "output": row["output"]} for row in rows]
    wanted[700]["input"] += "\n\nloudly"
    wanted[1400]["output"] = "7"
    # Where all rows are in one line, its number tells nothing.
    for separator, unit in ((",\n", "line"), (",", "row")):
        found, told = run_import(write(tmp_path, "[" + separator.join(map(json.dumps, rows)) + "]"))
        assert found == [row for place, row in enumerate(wanted) if place not in (2100, 2800)]
        assert told[0]["unit"] == unit
        assert [sample["row"] for sample in told[0]["samples"]] == [1, 2, 3]
        problems = [event for event in told if event["event"] == "problem"]
        assert [event["line"] for event in problems] == [2101, 2801]
        assert problems[0]["message"].startswith(f"{unit.capitalize()} 2101: ")


def test_what_is_told_is_ascii(tmp_path):
    """Line separators of Unicode would divide a line for newer releases of Node."""
    path = write(tmp_path, json.dumps({"input": "a\u2028b", "output\u2029": "é"}, ensure_ascii=False))
    _, (told, _) = run_import(path, run=False)
    assert told["samples"][0]["before"] == {"input": "a\u2028b", "output\u2029": "é"}


TURNS = [{"role": "user", "content": "q"}]
SAID = [{"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "q", "completion": "a", "label": True},
        {"prompt": "q", "completion": "a", "label": "Good", "id": 3},
        {"Question": "q", "response": "a", "thumbs": "up"},
        {"question": "q", "answer": "a", "feedback": "\U0001f44d"},
        {"prompt": "q", "answer": "a", "rating": "1"},
        {"prompt": "q", "completion": "a", "label": 1.0},
        {"prompt": TURNS, "completion": SAID, "label": True},
        {"messages": TURNS, "completion": "a", "label": True},
        {"messages": [*TURNS, *SAID], "label": True},
    ],
)
def test_thumbs_become_labels(row):
    columns = columns_of([row])
    proposed = None if conversion_of(None, columns, row) else propose(columns, [row])
    conversion = conversion_of(proposed and proposed.mapping, columns, row)
    assert conversion.target == "unpaired-preference" and not (proposed and proposed.is_guess)
    made = conversion.convert(row)
    assert made == {
        "prompt": made["prompt"],
        "completion": SAID if isinstance(made["completion"], list) else "a",
        "label": True,
    }
    assert made["prompt"] == (TURNS if isinstance(made["prompt"], list) else "q")
    assert not conversion.flat


def test_what_is_no_label_is_told_and_is_none():
    row = {"prompt": "q", "completion": "a", "label": "true"}
    convert = conversion_of(None, list(row), row).convert
    assert [
        convert({**row, "label": label})["label"] for label in (False, "down", 0, " BAD ", "-1", "0.0")
    ] == [False] * 6
    for label in ("maybe", None, 2, ""):
        with pytest.raises(BadRow, match="up and down"):
            convert({**row, "label": label})
    # Stars are none, nor are the names of classes.
    rows = [{"question": "q", "answer": "a", "rating": stars} for stars in ("1", "5")]
    assert propose(list(rows[0]), rows).mapping["target"] == "input-output"
    assert conversion_of(None, list(row), {**row, "label": "billing"}).target == "input-output"
    template = {
        "target": "unpaired-preference",
        "columns": {"completion": "completion", "label": "label"},
        "templates": {"prompt": "Asked: {{prompt}}"},
    }
    made = conversion_of(template, list(row), row).convert(row)
    assert made == {"prompt": "Asked: q", "completion": "a", "label": True}
