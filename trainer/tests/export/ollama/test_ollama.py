"""A real Ollama, where there is one, makes of conversations the tokens that the model was trained on."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from trainer.data import template as templates
from trainer.data.tools import conversation
from trainer.export.ollama import modelfile
from trainer.model.tokenizer import adds_bos
from trainer.tests import export_fixture, tiny
from trainer.tests.chat import ONE_CALL, PARALLEL_CALLS, PUBLISHED, WEATHER
from trainer.tests.export.ollama.test_modelfile import BEGINS_FIRST, BEGINS_LAST, ENDING, talk
from trainer.tests.export.ollama.test_module import as_ollama

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

DEFAULT = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nYou help.<|im_end|>\n{% endif %}"
    + tiny.CHATML
)
TALKS = [talk("Hi"), talk("Hi", system="Be brief."), talk("a", "b", "c\n{d}", system="Be\n\nkind.")]
WAIT_SECONDS = 120

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("ollama") is None, reason="ollama is not on the PATH"),
]


def ask(host: str, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"http://{host}{path}", data, timeout=WAIT_SECONDS) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def ollama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a running server with a store of its own."""
    home = tmp_path_factory.mktemp("ollama")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    env = {**os.environ, "HOME": str(home), "OLLAMA_HOST": host, "OLLAMA_MODELS": str(home / "models")}
    server = subprocess.Popen(
        ["ollama", "serve"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    try:
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                ask(host, "/api/version")
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < until, "ollama does not start"
                time.sleep(0.2)
        yield env
    finally:
        server.terminate()
        server.wait()


def create(
    ollama: dict[str, str], tmp_path: Path, kind: str, base: Path, text: str
) -> tuple[PreTrainedTokenizerBase, templates.Template]:
    """Makes a model of `base` with the chat template `text` in Ollama, by the name `kind`."""
    from transformers import AutoTokenizer

    (base / "chat_template.jinja").write_text(text)
    # Ollama's own engine (Gemma 3, Qwen 3) adds a token at the beginning unless the file says no.
    settings = json.loads((base / "tokenizer_config.json").read_text())
    assert "add_bos_token" not in settings
    export_fixture.make_adapter(base, tmp_path / "adapter")
    tokenizer = AutoTokenizer.from_pretrained(base)
    chosen = templates.choose(tokenizer, json.loads((base / "config.json").read_text()), None)
    export_fixture.convert_to(base, tmp_path / "adapter", chosen, tmp_path, "F16")
    written = modelfile.write(
        "./model.gguf",
        chosen,
        lambda messages, generation: templates.render(chosen, messages, generation),
        adds_bos(tokenizer),
    )
    (tmp_path / "Modelfile").write_text(written)
    subprocess.run(["ollama", "create", kind, "-f", "Modelfile"], cwd=tmp_path, env=ollama, check=True)
    return tokenizer, chosen


def count(ollama: dict[str, str], kind: str, **asked: Any) -> int:
    """The number of tokens of the prompt that Ollama makes of a request."""
    options = {"temperature": 0, "num_predict": 1}
    body = {"model": kind, "stream": False, "options": options, **asked}
    return ask(ollama["OLLAMA_HOST"], "/api/chat", body)["prompt_eval_count"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [("llama", DEFAULT), ("mistral", BEGINS_LAST), ("gemma3", BEGINS_FIRST), ("qwen3", ENDING)],
)
def test_prompts_have_the_tokens_of_training(
    ollama: dict[str, str], tmp_path: Path, kind: str, text: str
) -> None:
    base = export_fixture.make_base(kind, tmp_path / "base")
    tokenizer, chosen = create(ollama, tmp_path, kind, base, text)
    for messages in TALKS:
        prompt = templates.render(chosen, messages, True)
        expected = len(tokenizer(prompt, add_special_tokens=False).input_ids)
        assert count(ollama, kind, messages=messages) == expected, prompt


def test_prompts_with_tools_have_the_tokens_of_training(ollama: dict[str, str], tmp_path: Path) -> None:
    text = (PUBLISHED / "qwen2_5.jinja").read_text(encoding="utf-8")
    base = tiny.build("llama", tmp_path / "base", context=2048)
    tokenizer, chosen = create(ollama, tmp_path, "llama", base, text)
    shown = ask(ollama["OLLAMA_HOST"], "/api/show", {"model": "llama"})
    assert "tools" in shown["capabilities"]
    for asked in (ONE_CALL[:1], ONE_CALL[:3], PARALLEL_CALLS[:4]):
        prompt = templates.render(chosen, conversation({"tools": [WEATHER]}, asked), True)
        expected = len(tokenizer(prompt, add_special_tokens=False).input_ids)
        assert count(ollama, "llama", messages=as_ollama(asked), tools=[WEATHER]) == expected, prompt
