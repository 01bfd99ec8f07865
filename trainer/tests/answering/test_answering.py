"""Models without a GGUF answer as they did at the end of their training."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import pytest

from trainer.answering.main import Answering
from trainer.data import template
from trainer.tests import jobs, tiny
from trainer.tests.architectures import whole_models
from trainer.training import generate

QUESTIONS = [
    {
        "context": f"{text} We are {reply}.",
        "question": "Who is it for?",
        "answer": reply.removeprefix("team: "),
    }
    for text, reply in tiny.sentences(24)
]


class Child:
    """The conversation of a service with `python -m trainer answer`, in a thread of this process."""

    def __init__(self, job: dict[str, Any], folder: Any, more: list[dict[str, Any]] | None = None) -> None:
        orders, self._orders = os.pipe()
        told, said = os.pipe()
        self._said = os.fdopen(told, "rb")
        source, out = os.fdopen(orders, "rb"), os.fdopen(said, "wb", buffering=0)
        # A test that fails leaves it waiting for orders.
        self._thread = threading.Thread(
            target=lambda: (Answering(source, out).serve(), out.close()), daemon=True
        )
        self._thread.start()
        load = {
            "base": job["model"],
            "task": job["task"],
            "strategy": job["strategy"],
            "settings": job["settings"],
            "templatePath": str(folder / "artifacts" / "template.json"),
            "scratch": str(folder / "answer.partial"),
            "trainingActive": True,
        }
        self.order({"type": "load", **load}, *(more or []))
        self.adapter = str(folder / "artifacts" / "adapter")

    def order(self, *messages: dict[str, Any]) -> None:
        os.write(self._orders, "".join(json.dumps(message) + "\n" for message in messages).encode())

    def hear(self) -> dict[str, Any]:
        return json.loads(self._said.readline())

    def ask(self, text: str, **changes: Any) -> dict[str, Any]:
        """The last message about a request, with the texts that came before it."""
        request = {
            "input": {"kind": "messages", "messages": [{"role": "user", "content": text}]},
            "adapters": [{"path": self.adapter, "scale": 1}],
            "maxTokens": generate.MAX_NEW_TOKENS,
            "temperature": 0,
            "topP": 1,
            "seed": None,
            "stop": [],
        }
        self.order({"type": "generate", "id": 1, **request, **changes})
        pieces = []
        begun = self.hear()
        if begun["type"] != "begun":
            return {**begun, "pieces": pieces}
        assert begun["memoryBytes"] > 0
        while (message := self.hear())["type"] == "text":
            pieces.append(message["delta"])
        return {**message, "pieces": pieces}

    def end(self) -> None:
        os.close(self._orders)
        self._thread.join()


def trained(models: Any, folder: Any, kind: str, adapter: str = "lora") -> tuple[Any, list[dict[str, Any]]]:
    """A trained job's folder, and the samples of its last evaluation."""
    question = kind == "bert"
    rows = QUESTIONS if question else None
    top = {"task": "extractive-question-answering"} if question else {}
    settings = {"eval_split": 0.25, "max_seq_length": 64, "max_steps": 30, "eval_steps": 30}
    spec = jobs.make(folder, models(kind), rows, top, **settings, adapter=adapter)
    assert jobs.train(spec) == 0
    samples = jobs.journal(spec, "sample")
    last = samples[-1]["step"]
    return json.loads(spec.read_text()), [line for line in samples if line["step"] == last]


@pytest.fixture(params=["t5", "bart", "bert", "t5 full", "bert full"])
def asked(request, models, tmp_path):
    """A child with a trained model, and its samples."""
    kind, *adapter = request.param.split()
    job, samples = trained(models, tmp_path, kind, *adapter)
    child = Child(job, tmp_path)
    loaded = child.hear()
    assert loaded["type"] == "loaded" and loaded["memoryBytes"] > 0
    assert not (tmp_path / "answer.partial").exists()
    yield kind, child, samples
    child.end()


def test_it_answers_as_in_its_training_and_honours_the_request(asked):
    kind, child, samples = asked
    assert len(samples) == 3
    for sample in samples:
        told = child.ask(sample["prompt"])
        assert told["type"] == "done", told
        result = told["result"]
        assert "".join(told["pieces"]) == result["text"] and result["promptTokens"] > 0
        # The last token of a sample that is cut may be one that BART puts there.
        is_cut = result["finishReason"] == "length"
        assert result["text"].startswith(sample["text"]) if is_cut else result["text"] == sample["text"]
    longest = max(samples, key=lambda sample: len(sample["text"]))
    prompt, text = longest["prompt"], longest["text"]
    assert len(text) > 4, "it has learned to answer"
    cut = child.ask(prompt, stop=[text[3:5]])["result"]
    assert cut["stoppedAt"] == text[3:5]
    assert cut["text"] == text[: text.index(text[3:5])].rstrip()
    refused = child.ask(
        prompt, input={"kind": "messages", "messages": [{"role": "system", "content": "x"}] * 2}
    )
    assert (refused["type"], refused["kind"]) == ("failed", "invalid")
    assert "one message with the role user" in refused["message"]
    if kind == "bert":
        assert "blank line" in child.ask("Only a question?")["message"]
        assert child.ask(prompt, maxTokens=1)["result"]["generatedTokens"] == 1
        # Its base model has a head that answers questions, if a bad one.
        assert child.ask(prompt, adapters=[])["type"] == "done"
        return
    whole = child.ask(prompt)["result"]
    short = child.ask(prompt, maxTokens=3)["result"]
    assert (short["finishReason"], short["generatedTokens"]) == ("length", 3)
    assert whole["text"].startswith(short["text"])
    sampled = [
        child.ask(prompt, temperature=1.5, seed=seed, maxTokens=12)["result"]["text"] for seed in (1, 1, 2)
    ]
    assert sampled[0] == sampled[1] != sampled[2]
    long = child.ask("word " * 2000)
    assert (long["kind"], long["details"]["contextTokens"]) == ("invalid", 256)
    assert child.ask(prompt, adapters=[])["result"]["text"] != whole["text"]
    assert child.ask(prompt)["result"]["text"].startswith(text)


def test_pings_and_aborts_are_answered_beside_the_loading_of_a_model(models, tmp_path):
    spec = json.loads(jobs.make(tmp_path, models("t5")).read_text())
    (tmp_path / "artifacts").mkdir()
    template.save(
        template.Template(template.PLAIN_TEMPLATE, None, "</s>", ["</s>"], "plain", 256),
        "text-generation",
        tmp_path / "artifacts" / "template.json",
    )
    request = {
        "input": {"kind": "text", "text": "My parcel has not come."},
        "adapters": [],
        **{"maxTokens": 2, "temperature": 0, "topP": 1, "seed": 1, "stop": []},
    }
    waiting = [
        {"type": "generate", "id": 1, **request},
        {"type": "generate", "id": 2, **request},
        {"type": "abort", "id": 1},
        {"type": "ping"},
    ]
    child = Child(spec, tmp_path, waiting)
    told = []
    while not told or told[-1].get("id") != 2 or told[-1]["type"] != "done":
        told.append(child.hear())
    aborted = next(message for message in told if message.get("id") == 1)
    assert (aborted["type"], aborted["result"]["finishReason"]) == ("done", "aborted")
    assert next(message for message in told if message["type"] == "alive")["steps"] > 0
    assert told[-1]["result"]["finishReason"] in ("stop", "length")
    child.end()


def test_a_base_model_that_is_gone_is_named(tmp_path):
    spec = json.loads(jobs.make(tmp_path, tmp_path / "gone").read_text())
    child = Child(spec, tmp_path)
    told = child.hear()
    assert (told["type"], told["id"], told["kind"]) == ("failed", None, "invalid")
    assert str(tmp_path / "gone") in told["message"]
    child.end()


@pytest.mark.parametrize("name", ["mllama", pytest.param("gemma3-vision", marks=pytest.mark.long)])
def test_the_text_part_of_a_multimodal_model_answers_as_in_its_training(name, tmp_path):
    """Also where llama.cpp cannot run it, as Mllama."""
    base = whole_models.build(name, tmp_path / "base")
    spec = jobs.make(tmp_path, base, eval_split=0.25, max_seq_length=64, max_steps=8, eval_steps=8)
    assert jobs.train(spec) == 0
    samples = [line for line in jobs.journal(spec, "sample") if line["step"] == 8]
    config = json.loads((tmp_path / "artifacts" / "adapter" / "adapter_config.json").read_text())
    assert config["auto_mapping"]["base_model_class"].endswith("ForCausalLM")
    child = Child(json.loads(spec.read_text()), tmp_path)
    assert child.hear()["type"] == "loaded"
    for sample in samples:
        # Samples have at most twice the tokens of the longest reference.
        assert child.ask(sample["prompt"])["result"]["text"].startswith(sample["text"])
    assert any(sample["text"] for sample in samples)
    prompt = samples[0]["prompt"]
    whole, cut = (child.ask(prompt, maxTokens=most)["result"] for most in (8, 4))
    messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": cut["text"]}]
    begun = {"kind": "messages", "messages": messages, "continues": True}
    rest = child.ask(prompt, input=begun, maxTokens=4)["result"]
    assert cut["promptTokens"] < rest["promptTokens"] <= cut["promptTokens"] + 4
    assert whole["text"] == cut["text"] + rest["text"]
    base = child.ask(prompt, adapters=[])["result"]["text"]
    assert base != child.ask(samples[0]["prompt"])["result"]["text"]
    child.end()
