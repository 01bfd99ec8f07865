"""Judges, asked over HTTP of a server that answers what a test says."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from trainer.grading import judge, judge_server
from trainer.grading.grade import grade_all
from trainer.grading.judge import label_model, pairwise, score_model, summary
from trainer.grading.judge_server import JudgeError
from trainer.grading.main import judged_pairs
from trainer.grading.score import GraderError, Sample

KEY = "sk-a-secret"
# A status, headers and a body.
Answer = tuple[int, dict[str, str], Any]


class JudgeServer(ThreadingHTTPServer):
    """A server that speaks enough of OpenAI's API: `answers` are given in turn, the last one for ever."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.answers: list[Answer | Callable[[dict[str, Any]], Answer]] = []
        self.models: Answer = (200, {}, {"data": [{"id": "judge-1"}]})

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    """Answers as the server says."""

    server: JudgeServer

    def do_GET(self) -> None:
        """Lists models."""
        self.server.keys.append(self.headers["Authorization"])
        self._answer(self.server.models if self.path == "/v1/models" else (404, {}, {}))

    def do_POST(self) -> None:
        """Judges."""
        assert self.path == "/v1/chat/completions"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers["Authorization"])
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self._answer(answer(body) if callable(answer) else answer)

    def _answer(self, answer: Answer) -> None:
        status, headers, body = answer
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


def verdict(result: object, reasoning: str = "because") -> Answer:
    """An answer with a verdict."""
    return said(json.dumps({"reasoning": reasoning, "result": result}))


def said(text: str | None) -> Answer:
    """An answer with a text."""
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return 200, {}, {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    """The server, with retries that do not wait."""
    monkeypatch.setattr(judge, "WAITS", [0.0, 0.0, 0.0])
    monkeypatch.delenv("HONE_SERVICE_FILE", raising=False)
    with JudgeServer() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def grader(server: JudgeServer, **fields: object) -> dict[str, Any]:
    """A grader that asks it."""
    content = "Rate {{sample.output_text}} beside {{item.reference}}."
    return {
        "type": "score_model",
        "model": "judge-1",
        "base_url": server.url,
        "input": [{"role": "user", "content": content}],
        **fields,
    }


ITEM, SAMPLE = {"reference": "fuzzy wuzzy"}, Sample("fuzzy")


def test_a_model_scores_an_answer(server: JudgeServer) -> None:
    server.answers = [verdict(7.5, "close")]
    parameters = {"temperature": 0, "seed": None, "max_completions_tokens": 50}
    score = score_model(grader(server, range=[0, 10], sampling_params=parameters), ITEM, SAMPLE)
    assert (score.value, score.explanation) == (7.5, "close")
    (asked,) = server.asked
    assert asked["messages"][0]["content"].startswith("Rate fuzzy beside fuzzy wuzzy.")
    assert (asked["model"], asked["temperature"], asked["max_completion_tokens"]) == ("judge-1", 0, 50)
    assert "seed" not in asked
    schema = asked["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["result"] == {"type": "number", "description": "from 0 to 10"}


def test_messages_may_have_parts_and_roles(server: JudgeServer) -> None:
    server.answers = [verdict(1)]
    system = {"role": "developer", "content": {"type": "input_text", "text": "Be strict."}}
    parts = [{"type": "input_text", "text": "{{item.reference}}"}, {"type": "output_text", "text": "x"}]
    score_model(grader(server, input=[system, {"role": "assistant", "content": parts}]), ITEM, SAMPLE)
    told = [(one["role"], one["content"]) for one in server.asked[0]["messages"]]
    assert told[:2] == [("developer", "Be strict."), ("assistant", "fuzzy wuzzy\nx")]
    assert told[2][0] == "user"


def test_a_model_labels_an_answer(server: JudgeServer) -> None:
    labels = {"type": "label_model", "labels": ["good", "fair", "bad"], "passing_labels": ["good", "fair"]}
    server.answers = [verdict("fair")]
    assert label_model(grader(server, **labels), ITEM, SAMPLE).value == 1.0
    server.answers = [verdict("bad")]
    score = label_model(grader(server, **labels), ITEM, Sample("other"))
    assert (score.value, score.explanation) == (0.0, "bad: because")
    result = server.asked[0]["response_format"]["json_schema"]["schema"]["properties"]["result"]
    assert result == {"type": "string", "enum": ["good", "fair", "bad"]}


@pytest.mark.parametrize(
    "first",
    [
        (429, {"Retry-After": "0"}, {"error": {"message": "slow down"}}),
        (503, {}, b"busy"),
        (200, {}, b"<html>"),
        (200, {}, {"choices": []}),
        said("It is quite good."),
        said(None),
        verdict("high"),
        verdict(1.5),
        verdict(True),
        said('{"reasoning": "no result"}'),
        said('{"result": NaN}'),
    ],
)
def test_what_may_pass_is_asked_again(first: Answer, server: JudgeServer) -> None:
    server.answers = [first, verdict(0.5)]
    assert score_model(grader(server), ITEM, SAMPLE).value == 0.5
    assert len(server.asked) == 2


def test_attempts_are_bounded(server: JudgeServer) -> None:
    server.answers = [said("It is quite good.")]
    with pytest.raises(JudgeError, match=r"answered 'It is quite good\.', which is not JSON") as failure:
        score_model(grader(server), ITEM, SAMPLE)
    assert failure.value.kind == "model_grader_parse_error"
    assert len(server.asked) == 4


def test_a_server_without_formats_is_asked_without(server: JudgeServer) -> None:
    error = {"error": {"message": "response_format is not supported"}}
    server.answers = [lambda body: (400, {}, error) if "response_format" in body else verdict(0.5)]
    assert score_model(grader(server), ITEM, SAMPLE).value == 0.5
    assert len(server.asked) == 2


def test_a_verdict_with_text_around_it_is_read(server: JudgeServer) -> None:
    server.answers = [said('Here it is:\n```json\n{"result": 0.25}\n```')]
    assert score_model(grader(server), ITEM, SAMPLE).value == 0.25


def test_a_refusal_is_told_at_once_without_the_key(server: JudgeServer, keys: Path) -> None:
    keys.write_text(json.dumps({server.url: KEY}))
    server.answers = [(401, {}, {"error": {"message": f"Incorrect API key: {KEY}"}})]
    with pytest.raises(JudgeError, match="answered 401: Incorrect API key: …") as failure:
        score_model(grader(server), ITEM, SAMPLE)
    assert len(server.asked) == 1
    assert KEY not in str(failure.value)


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of keys."""
    path = tmp_path / "judge-keys.json"
    path.touch(0o600)
    monkeypatch.setenv("HONE_JUDGE_KEYS_FILE", str(path))
    return path


def test_a_key_goes_to_its_url_alone(server: JudgeServer, keys: Path) -> None:
    server.answers = [verdict(0.5)]
    keys.write_text(json.dumps({"http://127.0.0.1:1/v1": KEY}))
    score_model(grader(server), ITEM, SAMPLE)
    keys.write_text(json.dumps({server.url: KEY}))
    score_model(grader(server, base_url=server.url + "/"), ITEM, Sample("other"))
    assert server.keys == [None, f"Bearer {KEY}"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
def test_a_file_of_keys_that_others_can_read_is_refused(server: JudgeServer, keys: Path) -> None:
    keys.write_text(json.dumps({server.url: KEY}))
    keys.chmod(0o644)
    with pytest.raises(JudgeError, match="Other users can read"):
        score_model(grader(server), ITEM, SAMPLE)


def test_a_redirect_is_not_followed(server: JudgeServer, keys: Path) -> None:
    keys.write_text(json.dumps({server.url: KEY}))
    with JudgeServer() as other:
        server.answers = [(307, {"Location": f"{other.url}/chat/completions"}, {})]
        with pytest.raises(JudgeError, match="answered 307"):
            score_model(grader(server), ITEM, SAMPLE)
        other.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.socket.accept()


def test_equal_requests_are_asked_once_and_tokens_counted(server: JudgeServer) -> None:
    server.answers = [verdict(0.5)]
    before = judge.usage().get("judge-1", {})
    for text in ("a", "b", "a", "b"):
        score_model(grader(server), ITEM, Sample(text))
    taken = {name: count - before.get(name, 0) for name, count in judge.usage()["judge-1"].items()}
    assert taken == {"requests": 2, "prompt_tokens": 14, "completion_tokens": 6}


def test_rows_are_judged_at_once_and_keep_their_order(server: JudgeServer) -> None:
    both = threading.Barrier(2, timeout=60)

    def waits(body: dict[str, Any]) -> Answer:
        both.wait()
        return verdict(0.25 if "Rate one" in body["messages"][0]["content"] else 0.75)

    server.answers = [waits]
    multi = {"type": "multi", "graders": {"a": grader(server)}, "calculate_output": "a"}
    rows = [(ITEM, Sample(text)) for text in ("one", "two")]
    assert [row["m"].value for row in grade_all({"m": multi}, rows)] == [0.25, 0.75]


def test_without_a_url_the_service_is_asked(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = grader(server)
    del own["base_url"]
    with pytest.raises(JudgeError, match="does not run"):
        score_model(own, ITEM, SAMPLE)
    path = tmp_path / "service.json"
    path.touch(0o600)
    service = {"url": server.url.removesuffix("/v1"), "key": KEY, "certificate": None}
    path.write_text(json.dumps(service))
    monkeypatch.setenv("HONE_SERVICE_FILE", str(path))
    server.answers = [verdict(0.75)]
    assert score_model(own, ITEM, SAMPLE).value == 0.75
    assert server.keys == [f"Bearer {KEY}"]


def test_what_is_wrong_with_a_server_is_told_before_a_run(server: JudgeServer) -> None:
    judge_server.check(grader(server))
    for models in ((404, {}, {}), (200, {}, {"data": [{"id": "judge-1"}, {"id": "b"}]})):
        server.models = models
        judge_server.check(grader(server))
    faults = {
        "has no model judge-1. It has other": (200, {}, {"data": [{"id": "other"}]}),
        "answered 401: no key There is no key": (401, {}, {"error": {"message": "no key"}}),
        "answered 500": (500, {}, b"oh"),
        "does not answer as OpenAI's API": (200, {}, b"<html>"),
    }
    for fault, models in faults.items():
        server.models = models
        with pytest.raises(GraderError, match=fault):
            judge_server.check(grader(server))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/v1", "ftp://127.0.0.1/v1", "http://[nowhere/v1"):
        with pytest.raises(GraderError, match=r"cannot be reached|base_url"):
            judge_server.check(grader(server, base_url=url))


def test_pairs_are_judged_in_both_orders(server: JudgeServer) -> None:
    def prefers_long(body: dict[str, Any]) -> Answer:
        text = body["messages"][0]["content"]
        a, b = (text.split(f"<answer_{name}>\n")[1].split("\n</answer")[0] for name in "AB")
        return verdict("tie" if len(a) == len(b) else "A" if len(a) > len(b) else "B")

    server.answers = [prefers_long]
    asked = grader(server, criteria="length")
    told = [pairwise(asked, "Say it.", *answers) for answers in (("long", "x"), ("x", "long"), ("x", "y"))]
    assert [(one.better, one.consistent) for one in told] == [
        ("first", True),
        ("second", True),
        ("tie", True),
    ]
    assert "by these criteria: length" in server.asked[0]["messages"][0]["content"]
    server.answers = [verdict("A")]
    partial = pairwise(asked, "Say it again.", "one", "two")
    assert (partial.better, partial.consistent) == ("tie", False)
    assert summary([*told, partial]) == {"first": 1, "second": 1, "tie": 2, "agreement": 0.75}


def test_a_pair_that_cannot_be_judged_is_told_beside_the_others(server: JudgeServer) -> None:
    def refuses(body: dict[str, Any]) -> Answer:
        return (400, {}, {"error": {"message": "no"}}) if "Refuse" in str(body) else verdict("tie")

    server.answers = [refuses]
    pairs = [{"request": text, "first": "one", "second": "two"} for text in ("Judge this.", "Refuse this.")]
    told = judged_pairs(grader(server), pairs)
    assert told["summary"] == {"first": 0, "second": 0, "tie": 1, "agreement": 1}
    assert [one["better"] for one in told["pairs"]] == ["tie", None]
    assert "no" in told["pairs"][1]["explanation"]
    server.models = (200, {}, {"data": [{"id": "other"}]})
    assert "has no model judge-1" in judged_pairs(grader(server), pairs)["fault"]
