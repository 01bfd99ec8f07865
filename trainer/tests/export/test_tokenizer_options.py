"""The options that llama.cpp gets for a SentencePiece tokenizer."""

import json

import pytest
from transformers import AutoTokenizer

from trainer.export.tokenizer.options import TokenizerOptions, candidates, choose
from trainer.tests import export_fixture, jobs
from trainer.tests.export.test_export import field, tokens_of
from trainer.tests.export.test_export_run import export, make_job


def phi3_base(folder, rstrip, template=None):
    """A model of Phi-3's layout as transformers 5 saves it; without `rstrip` its tokens keep the space behind
    them."""
    base = export_fixture.make_base("phi3-chat", folder, template, keep_sentencepiece=False)
    path = base / "tokenizer.json"
    document = json.loads(path.read_text())
    assert document["normalizer"] is None and document["pre_tokenizer"]["prepend_scheme"] == "first"
    for token in document["added_tokens"]:
        if token["content"] in export_fixture.PHI3_TOKENS:
            assert not token["special"]
            token["rstrip"] = rstrip
    path.write_text(json.dumps(document))
    return base


@pytest.mark.parametrize(
    ("rstrip", "own_template", "expected"),
    [
        (True, True, TokenizerOptions(add_space_prefix=False, rstrip=True)),
        (False, True, TokenizerOptions(add_space_prefix=False, rstrip=False)),
        # Hone's template begins with the text itself, before which the tokenizer puts a space.
        (False, False, TokenizerOptions(add_space_prefix=True, rstrip=False)),
    ],
)
def test_tokens_added_and_not_special_read_as_in_training(tmp_path, rstrip, own_template, expected):
    base = phi3_base(tmp_path / "base", rstrip)
    spec = make_job(tmp_path / "job", base, ["F16"], use_chat_template=own_template)
    export(spec)
    done = jobs.journal(spec)[-1]
    assert done["verification"]["passed"] and done["verification"]["tokens_equal"] == 1
    assert not jobs.journal(spec, "warning")
    gguf = spec.parent / "artifacts" / "model-F16.gguf"
    assert field(gguf, "tokenizer.ggml.add_space_prefix") is expected.add_space_prefix
    assert ("phi-3" in field(gguf, "general.name")) is expected.rstrip
    stop = json.loads((spec.parent / "artifacts" / "template.json").read_text())["stop"]
    assert stop == (["<|end|>", "</s>"] if own_template else ["</s>"])


def test_what_is_not_in_doubt_is_not_tried(tmp_path):
    def tokenize(tried):
        raise AssertionError(tried)

    for kind, expected in (
        ("llama", TokenizerOptions()),
        ("gemma2", TokenizerOptions(add_space_prefix=False)),
        ("mistral-sp", TokenizerOptions(add_space_prefix=True)),
    ):
        base = export_fixture.make_base(kind, tmp_path / kind)
        assert choose(base, [[1]], tokenize) == expected


def test_the_options_that_reproduce_most_texts_are_chosen(tmp_path):
    base = phi3_base(tmp_path / "base", rstrip=True)
    wanted = [[1], [2], [3]]
    right = TokenizerOptions(add_space_prefix=True, rstrip=True)
    answers = {tried: [[1], [0], [0]] for tried in candidates(base)}
    answers[right] = [[1], [2], [0]]
    assert len(answers) == 4
    assert choose(base, wanted, answers.__getitem__) == right


def test_a_file_that_reads_texts_otherwise_is_kept_and_the_run_says_what_differs(tmp_path):
    base = phi3_base(tmp_path / "base", rstrip=False, template="mixed")
    spec = make_job(tmp_path / "job", base, ["F16", "Q8_0"])
    export(spec)
    done = jobs.journal(spec)[-1]
    assert (done["type"], done["outcome"]) == ("done", "completed")
    files = {line["path"] for line in jobs.journal(spec, "artifact") if line["kind"] == "gguf"}
    assert files == {"artifacts/model-F16.gguf", "artifacts/model-Q8_0.gguf"}
    assert all((spec.parent / path).stat().st_size for path in files)
    told = done["verification"]
    assert not told["passed"] and told["agreement"] > 0.9 and told["tokens_equal"] == 0
    assert "texts become other tokens than in training" in told["reason"]
    example = told["tokens_differ"]
    tokenizer = AutoTokenizer.from_pretrained(base)
    assert example["text"].startswith("user: ")
    assert tokenizer(example["text"], add_special_tokens=False).input_ids == example["trained"]
    assert tokens_of(spec.parent / "artifacts" / "model-F16.gguf", [example["text"]]) == [example["gguf"]]
    report = json.loads((spec.parent / "artifacts" / "verification.json").read_text())["files"]
    assert report["F16"]["tokens_differ"] == example and report["F16"]["exact"] and not report["F16"]["dead"]
    (warning,) = jobs.journal(spec, "warning")
    assert warning["code"] == "tokens_differ"
    assert str(example["trained"]) in warning["message"] and str(example["gguf"]) in warning["message"]


@pytest.mark.long
def test_a_run_trains_and_then_exports_in_the_same_process_id(tmp_path):
    top = {"export": {"quantizations": ["F16"]}, "tools": export_fixture.TOOLS}
    spec = jobs.make(tmp_path / "job", phi3_base(tmp_path / "base", rstrip=False), top=top, max_steps=2)
    assert jobs.spawn(spec).wait() == 0, jobs.journal(spec)[-1]
    done = jobs.journal(spec)[-1]
    assert done["outcome"] == "completed" and done["verification"]["passed"]
