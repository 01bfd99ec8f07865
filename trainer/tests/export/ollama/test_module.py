"""Ollama's own packages render prompts with tools as in training, and read the calls of answers.

They come from Go's module proxy.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainer.data.template import render, split
from trainer.data.tools import conversation
from trainer.tests.chat import ONE_CALL, PARALLEL_CALLS, SYSTEM, WEATHER
from trainer.tests.export.ollama.test_tools import TAGS, chosen, written

VERSION = "v0.17.4"
BOOK = {
    "type": "function",
    "function": {
        "name": "book",
        "description": 'Books a <room> & "more":\nZürich 🏔.',
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where."},
                "kind": {"type": "string", "enum": ["single", "double"], "description": "Of the room."},
                "nights": {"type": "integer"},
            },
            "required": ["city", "nights"],
        },
    },
}
NOW = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
ARGUMENTS = {"city": 'Chur <b> & "c"', "nights": 2, "notes": ["a", {"b": None}], "price": 2.5}
BOOKED = [
    {"role": "user", "content": "Book it."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call00007", "type": "function", "function": {"name": "book", "arguments": ARGUMENTS}}
        ],
    },
    {"role": "tool", "tool_call_id": "call00007", "content": '{"ok": "<yes>"}'},
]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("go") is None, reason="go is not on the PATH"),
]


@pytest.fixture(scope="module")
def ollama(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[dict[str, Any]]], list[Any]]:
    """Asks a program with Ollama's packages."""
    home = tmp_path_factory.mktemp("module")
    shutil.copy(Path(__file__).parent / "main.go", home)
    subprocess.run(["go", "mod", "init", "asked"], cwd=home, check=True)
    if subprocess.run(["go", "get", f"github.com/ollama/ollama@{VERSION}"], cwd=home).returncode != 0:
        # It comes from a proxy of Go's modules, which not every machine reaches.
        pytest.skip("Ollama's module cannot be fetched")
    subprocess.run(["go", "build", "-o", "asked", "."], cwd=home, check=True)

    def ask(rows: list[dict[str, Any]]) -> list[Any]:
        text = json.dumps(rows)
        done = subprocess.run([home / "asked"], input=text, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return ask


def as_ollama(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages of a row as Ollama's API has them."""
    made, names = [], {}
    for message in messages:
        said = {"role": message["role"], "content": message["content"] or ""}
        calls = message.get("tool_calls", ())
        for call in calls:
            function = call["function"]
            arguments = function["arguments"]
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
            names[call["id"]] = function["name"]
            said.setdefault("tool_calls", []).append(
                {"id": call["id"], "function": {"name": function["name"], "arguments": given}}
            )
        if message["role"] == "tool":
            said |= {"tool_call_id": message["tool_call_id"], "tool_name": names[message["tool_call_id"]]}
        made.append(said)
    return made


@pytest.mark.parametrize("name", TAGS)
def test_ollama_renders_prompts_and_reads_calls(
    ollama: Callable[[list[dict[str, Any]]], list[Any]], name: str
) -> None:
    template = chosen(name)
    source = written(template).split('TEMPLATE """')[1].split('"""')[0]
    takes_many = "llama" not in name
    talks = [ONE_CALL[:1], ONE_CALL[:3], [*ONE_CALL, {"role": "user", "content": "Thanks."}], BOOKED]
    talks += [PARALLEL_CALLS[:4], PARALLEL_CALLS[:6]] if takes_many else []
    rows, prompts = [], []
    answered = (PARALLEL_CALLS if takes_many else ONE_CALL)[:2]
    _, answer = split(template, conversation({"tools": [WEATHER, BOOK]}, answered))
    for stop in template.stop:
        answer = answer.removesuffix(stop)
    for talk in [*talks, *([SYSTEM, *one] for one in talks)]:
        for tools in ([WEATHER, BOOK], [WEATHER, BOOK, NOW]):
            prompts.append(render(template, conversation({"tools": tools}, talk), True))
            rows.append({"template": source, "messages": as_ollama(talk), "tools": tools, "answer": answer})
    found = ollama(rows)
    assert [one["prompt"] for one in found] == prompts
    expected = [
        {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in answered[1]["tool_calls"]
    ]
    for one in found:
        assert "tools" in one["vars"], "Ollama says that the model has no tools"
        calls = [{name: call["function"][name] for name in ("name", "arguments")} for call in one["calls"]]
        assert calls == expected
        assert "call" not in one["content"].lower()
