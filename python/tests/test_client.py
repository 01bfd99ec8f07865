"""The client against a running service: HONE_URL, with a small base model in HONE_TEST_MODEL."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import hone
from hone.chart import chart
from hone.http import running_here

MODEL = os.environ["HONE_TEST_MODEL"]
ROWS = [{"input": f"Parcel {n} is late.", "output": "Delivery: We look into it."} for n in range(12)]
SETTINGS: dict[str, Any] = {
    "num_train_epochs": 2,
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 1,
    "eval_split": 0.2,
    "max_seq_length": 128,
}


@pytest.fixture(scope="module")
def run() -> hone.Run:
    return hone.train(ROWS, MODEL, **SETTINGS)


def test_a_run_is_followed_to_its_end(run: hone.Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.follow() is run
    assert run.state == "completed"
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(f"{run.id} 100% · completed · step 6/6 · loss ")
    assert len(run.metrics()["train"]) == 6
    assert run.verdict and run.verdict in lines[-1]
    html = run._repr_html_()
    assert 'value="100.0"' in html
    assert "<polyline" in html
    assert hone.runs()[0].id == run.id


def test_rows_are_made_of_documents(run: hone.Run, tmp_path: Path) -> None:
    fees = tmp_path / "fees.txt"
    fees.write_text("The monthly fee of the library is twelve euros.")
    making = hone.make_rows([fees], run.model.name, "fees", kind="summary", max_tokens=32)
    # A model of this size knows nothing, so that no row may be kept.
    assert making["state"] in ("completed", "failed")
    assert making["answered"] == making["sources"] == 1
    with pytest.raises(hone.Refused, match=r"empty\.txt has no text"):
        (tmp_path / "empty.txt").write_text("")
        hone.make_rows([tmp_path / "empty.txt"], run.model.name, "empty")


def test_its_model_answers_at_once_and_in_pieces(run: hone.Run, tmp_path: Path) -> None:
    model = run.model
    answer = model.ask("Parcel 3 is late.", temperature=0, max_tokens=12)
    messages = [{"role": "user", "content": "Parcel 3 is late."}]
    assert "".join(model.stream(messages, temperature=0, max_tokens=12)) == answer
    assert hone.model(model.name).id == hone.model(model.id).id == model.id
    path = model.download(tmp_path)
    assert path.read_bytes()[:4] == b"GGUF"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.name.startswith("model-"), "the whole model, not its adapter"
    with pytest.raises(LookupError, match=r"has no file tea\.gguf"):
        model.download(tmp_path, "tea.gguf")
    with pytest.raises(LookupError, match="There is no model 'tea'"):
        hone.model("tea")


def test_it_is_evaluated_and_reported(run: hone.Run, tmp_path: Path) -> None:
    evaluation = hone.evaluate(ROWS, run.model, rows=5).follow()
    assert evaluation.figures is not None and evaluation.figures["loss"] > 0
    assert [row["reference"] for row in evaluation.rows] == ["Delivery: We look into it."] * 5
    report = hone.connect().save_report(run, tmp_path / "run.html")
    assert run.id in report.read_text()


def test_rows_are_stored_once_and_estimated() -> None:
    assert hone.upload(ROWS) == hone.upload(iter(ROWS))
    assert hone.estimate(hone.upload(ROWS), MODEL, **SETTINGS)["memory"]


def test_faults_are_told(tmp_path: Path) -> None:
    with pytest.raises(hone.Refused, match="learning_rate") as refused:
        hone.train(ROWS, MODEL, learning_rate="fast")  # type: ignore[arg-type]
    assert refused.value.status in (400, 422)
    with pytest.raises(hone.Refused):
        hone.run("train_999")
    with pytest.raises(TypeError, match="A row is a dictionary"):
        hone.upload(["a", "b"])
    with pytest.raises(TypeError, match="not a int"):
        hone.upload(3)
    with pytest.raises(hone.Unreachable, match="hone serve"):
        hone.Hone("http://127.0.0.1:9").runs()
    with pytest.raises(ValueError, match="not the address"):
        hone.Hone("localhost:8000")


def test_a_key_is_not_taken_elsewhere_and_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        with pytest.raises(hone.Refused) as refused:
            hone.Hone(f"http://127.0.0.1:{server.server_port}", "hone_secret").runs()
        server.shutdown()
    assert (refused.value.status, asked) == (302, ["/api/jobs"])


def test_the_service_of_this_user_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url, key = running_here()
    assert url == os.environ["HONE_URL"] and key
    monkeypatch.delenv("HONE_URL")
    assert hone.Hone().runs()
    monkeypatch.setenv("SERVICE_DATA_DIR", str(tmp_path))
    assert running_here() == ("http://localhost:8000", None)


def test_a_chart_tells_its_values() -> None:
    assert chart([(1, 2.0)], "loss") == ""
    drawn = chart([(1, 2.0), (2, 2.0), (3, 1.0)], "a<b")
    assert "a&lt;b: 2 at step 1, 1 at step 3" in drawn
    assert drawn.count(",") >= 3
