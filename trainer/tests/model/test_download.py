"""The base model from a hub on loopback: what is fetched, what is not, and where the token goes."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from trainer.adapter_base import make as adapter_base
from trainer.model.download import progress_class
from trainer.protocol.contracts import Adapter
from trainer.tests import export_fixture, jobs, tiny

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_canary"


@pytest.fixture
def hub(models, tmp_path):
    """A hub with one repository: a tiny model, a pickle, a program, and a folder of other weights."""
    folder = shutil.copytree(models("llama"), tmp_path / "repository")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "modeling_own.py").write_text("raise SystemExit")
    (folder / "consolidated.safetensors").write_bytes(b"again")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.safetensors").write_bytes(b"other")
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text(tiny.CHATML)
    asked, tokens = [], []

    class Handler(BaseHTTPRequestHandler):
        """What a hub client asks for: the revision, the tree, the files."""

        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.answer(False)

        def do_GET(self):
            self.answer(True)

        def answer(self, with_body):
            path = urlsplit(self.path).path
            tokens.append((path, self.headers.get("Authorization")))
            if path == "/api/models/owner/name/revision/main" or path == "/api/models/owner/name":
                self.reply(
                    json.dumps({"id": "owner/name", "sha": COMMIT, "siblings": []}).encode(), with_body
                )
            elif path.startswith("/api/models/owner/name/tree/"):
                files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
                tree = [
                    {
                        "type": "file",
                        "path": file.relative_to(folder).as_posix(),
                        "size": file.stat().st_size,
                        "oid": digest(file),
                    }
                    for file in files
                ]
                self.reply(json.dumps(tree).encode(), with_body)
            elif path.startswith(f"/owner/name/resolve/{COMMIT}/"):
                file = folder / path.removeprefix(f"/owner/name/resolve/{COMMIT}/")
                asked.append(file.relative_to(folder).as_posix())
                self.reply(
                    file.read_bytes(), with_body, {"ETag": f'"{digest(file)}"', "X-Repo-Commit": COMMIT}
                )
            else:
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def reply(self, body, with_body, headers=None):
            self.send_response(200)
            for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *args):
            return None

    def digest(file):
        return hashlib.sha1(file.read_bytes()).hexdigest()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.asked, server.tokens, server.folder = asked, tokens, folder
    yield server
    server.shutdown()


# Writes the environment that each Python process of the job begins with.
HOOK = """
import json, os, sys
with open(os.environ["HONE_TEST_BEGUN"], "a") as file:
    file.write(json.dumps([sys.orig_argv, open("/proc/self/environ").read()]) + "\\n")
"""


def hub_job(folder):
    spec = jobs.make(folder, "unused", top={}, max_steps=1)
    value = json.loads(spec.read_text())
    value["model"] = {"name": "owner/name", "path": None}
    spec.write_text(json.dumps(value))
    return spec


def environment_for(hub, tmp_path):
    """The environment of a process that downloads with a token, and tells of itself in begun.txt."""
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    return {
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_OFFLINE": "0",
        "HF_TOKEN": TOKEN,
        "https_proxy": f"http://ada:{TOKEN}@127.0.0.1:9",
        "HONE_TEST_BEGUN": str(tmp_path / "begun.txt"),
        "PYTHONPATH": f"{tmp_path}:{jobs.ROOT}",
    }


def test_the_base_of_an_adapter_comes_down_before_it_is_merged(hub, models, tmp_path):
    adapter, cache = tmp_path / "adapter", tmp_path / "cache"
    export_fixture.make_adapter(models("llama"), adapter)
    named = {"path": str(adapter), "base": "owner/name", "base_path": None}
    merged = cache / adapter_base.key_of(Adapter(**named))
    model = {"name": str(adapter), "path": str(merged), "adapter": named}
    spec = jobs.make(tmp_path / "job", "unused", top={"model": model}, max_steps=1)
    environment = environment_for(hub, tmp_path)

    def preview():
        shown = subprocess.run(
            [sys.executable, "-m", "trainer", "preview", str(spec), "--rows", "1"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        assert len(json.loads(shown.stdout)["rows"]) == 1, shown.stdout + shown.stderr

    preview()
    assert "model.safetensors" not in hub.asked and not merged.exists()
    child = jobs.spawn(spec, **environment)
    assert child.wait(600) == 0, (spec.parent / "log.txt").read_text()[-3000:]
    assert "model.safetensors" in hub.asked
    assert (merged / "model.safetensors").is_file()
    # The processes that merged and trained never had the token.
    begun = [json.loads(line) for line in (tmp_path / "begun.txt").read_text().splitlines()]
    assert [TOKEN in environ for _, environ in begun] == [True, False, True, False]
    phases = list(dict.fromkeys(line["phase"] for line in jobs.journal(spec, "phase")))
    assert phases[:4] == ["check", "download", "merge_base", "load"]
    preview()
    hub.shutdown()
    again = jobs.make(tmp_path / "again", "unused", top={"model": model}, max_steps=1)
    child = jobs.spawn(again, **{**environment, "HF_TOKEN": "", "https_proxy": ""})
    assert child.wait(600) == 0, (again.parent / "log.txt").read_text()[-3000:]
    assert jobs.losses(again) == jobs.losses(spec)


def test_only_safetensors_configuration_and_tokenizer_come_down(hub, tmp_path):
    spec = hub_job(tmp_path / "job")
    environment = environment_for(hub, tmp_path)
    child = jobs.spawn(spec, **environment)
    assert child.wait(600) == 0, (spec.parent / "log.txt").read_text()[-3000:]
    wanted = {
        "additional_chat_templates/tool_use.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert set(hub.asked) == wanted
    assert not [path for path, token in hub.tokens if token != f"Bearer {TOKEN}"]
    # The process that downloaded was replaced by one that never had the token.
    begun = [json.loads(line) for line in (tmp_path / "begun.txt").read_text().splitlines()]
    assert [TOKEN in environ for _, environ in begun] == [True, False]
    assert begun[1][0][-2:] == [str(spec), "--downloaded"]
    assert [line["phase"] for line in jobs.journal(spec, "phase")][:2] == ["check", "download"]
    assert len(jobs.journal(spec, "hello")) == 1
    told = [line for line in jobs.journal(spec, "phase") if line["phase"] == "download"]
    assert told[0]["progress"] == 0 and told[-1]["progress"] == 1
    sizes = [line["detail"] for line in told if line["detail"]]
    assert sizes and all("MB" in detail for detail in sizes)
    for path in spec.parent.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path

    # A preview does the same.
    shown = subprocess.run(
        [sys.executable, "-m", "trainer", "preview", str(spec), "--rows", "1"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert len(json.loads(shown.stdout)["rows"]) == 1, shown.stdout + shown.stderr
    begun = [json.loads(line) for line in (tmp_path / "begun.txt").read_text().splitlines()]
    assert [TOKEN in environ for _, environ in begun[2:]] == [True, False]


def test_the_token_leaves_the_environment_before_the_model_s_files_are_read(models, tmp_path, monkeypatch):
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUB_TOKEN", "HUGGINGFACE_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    assert jobs.train(jobs.make(tmp_path, models("llama"), max_steps=1)) == 0
    assert TOKEN not in os.environ.values()


@pytest.mark.parametrize(("finished", "total"), [(1, None), (2, 400)])
def test_the_total_is_told_once_all_files_have_begun(finished, total):
    told = []
    bar = progress_class(lambda *heard: told.append(heard), lambda: None)
    files = bar(total=6, desc="Fetching 6 files")
    bar(unit="B", desc="Downloading (incomplete total...)", total=400).update(1)
    files.update(finished)
    bar(unit="B", desc="Reconstructing (incomplete total...)", total=400).update(100)
    assert told == [(100, total)]
