"""The lengths of an analysis are those of the rows that are trained."""

import json
import subprocess
import sys

import pytest

from trainer.data import preferences, sequences
from trainer.data.encode import IGNORED
from trainer.families import seq2seq
from trainer.preview import lengths
from trainer.preview.preview import open_job
from trainer.tests import jobs
from trainer.tests.tiny import sentences

ROWS = {
    "input-output": [{"input": text * 3, "output": reply} for text, reply in sentences(12)],
    "messages": [
        {
            "messages": [
                {"role": "user", "content": text},
                {"role": "assistant", "content": "What?", "weight": at % 2},
                {"role": "user", "content": text},
                {"role": "assistant", "content": reply},
            ]
        }
        for at, (text, reply) in enumerate(sentences(12))
    ],
    "text": [{"text": text * 4} for text, _ in sentences(12)],
    "preference": [
        {"prompt": text, "chosen": reply * at, "rejected": "no"}
        for at, (text, reply) in enumerate(sentences(12), 1)
    ],
}


def measured(spec, capsys):
    assert lengths.lengths(str(spec)) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize("shape", ROWS)
def test_causal_rows_and_pairs(models, tmp_path, capsys, shape):
    top = {"strategy": "dpo"} if shape == "preference" else {}
    spec = jobs.make(tmp_path, models("llama"), ROWS[shape], top, max_seq_length=34)
    value = json.loads(spec.read_text())
    value["dataset"]["shape"] = shape
    spec.write_text(json.dumps(value))
    told = measured(spec, capsys)
    job = open_job(str(spec), [], False)
    if shape == "preference":
        dataset, length = preferences.encoded_pairs(job)
        trained = [
            (row["prompt_ids"], answer)
            for row in dataset
            for answer in (row["chosen_ids"], row["rejected_ids"])
        ]
        total = sum(len(prompt) + len(answer) for prompt, answer in trained)
        learned = sum(len(answer) for _, answer in trained)
    else:
        dataset, length = sequences.encoded_rows(job)
        total = sum(map(len, dataset["input_ids"]))
        learned = sum(label != IGNORED for labels in dataset["labels"] for label in labels)
    assert told["max_seq_length"] == length == 34
    fitting = [total for total in told["totals"] if total <= 34]
    if shape != "text":
        # The parts of a long text overlap by a token, which is not learned again.
        assert fitting == [total for total in dataset["total_tokens"] if total <= 34]
        assert told["learned_share"] == pytest.approx(learned / total)
    assert fitting and max(told["totals"]) > 34
    # A conversation may be more than one sequence.
    assert len(told["row_totals"]) == len(ROWS[shape])
    assert max(told["row_totals"]) == max(told["totals"]) and set(told["row_totals"]) <= set(told["totals"])


def test_encoder_decoders(models, tmp_path, capsys):
    spec = jobs.make(tmp_path, models("t5"), ROWS["input-output"])
    told = measured(spec, capsys)
    dataset, length = seq2seq.encoded_rows(open_job(str(spec), [], False))
    assert told["max_seq_length"] == length and told["totals"] == dataset["total_tokens"][:]
    learned, total = sum(map(len, dataset["labels"])), sum(map(len, dataset["input_ids"]))
    assert told["learned_share"] == pytest.approx(learned / (learned + total))


def test_a_model_that_points_learns_no_share(models, tmp_path, capsys):
    rows = [
        {"context": f"{text} {reply}", "question": "Who?", "answer": reply} for text, reply in sentences(12)
    ]
    top = {"task": "extractive-question-answering"}
    told = measured(jobs.make(tmp_path, models("bert"), rows, top), capsys)
    assert told["learned_share"] is None and len(told["totals"]) == 12


def test_a_model_that_cannot_be_read_is_told(tmp_path, capsys):
    assert lengths.lengths(str(jobs.make(tmp_path, tmp_path))) == 1
    assert "message" in json.loads(capsys.readouterr().out.splitlines()[-1])["failed"]


@pytest.mark.parametrize(("kind", "shape"), [("llama", "messages"), ("t5", "input-output")])
def test_they_are_counted_without_torch(models, tmp_path, capsys, kind, shape):
    spec = jobs.make(tmp_path, models(kind), ROWS[shape], max_seq_length=34)
    child = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "trainer", "lengths", str(spec)],
        cwd=jobs.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    imported = {line.rsplit("|", 1)[-1].strip() for line in child.stderr.splitlines()}
    assert "transformers" in imported and "torch" not in imported
    assert json.loads(child.stdout.splitlines()[-1]) == measured(spec, capsys)
