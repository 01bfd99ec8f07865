"""What is passed on to trackers, and a tracker that cannot be used."""

import json
import subprocess
import sys

from trainer.tests import jobs
from trainer.tracking.figures import Reader, settings_of

LINES = [
    json.loads(line)
    for line in (jobs.GOLDEN.parent / "journal.golden.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_every_figure_is_passed_on_and_no_text():
    reader = Reader()
    read = [figures for line in LINES if (figures := reader.read(line)) is not None]
    assert [figures.step for figures in read] == [1, 2, 50, 50, 150]
    first, second, evaluated, sampled, done = (figures.values for figures in read)
    assert first["train/loss"] == 3.52 and first["train/mean_token_accuracy"] == 0.31
    names = "total_steps epoch total_epochs loss learning_rate grad_norm tokens tokens_per_second"
    names += " elapsed_seconds eta_seconds memory_bytes mean_token_accuracy"
    assert set(first) == {f"train/{name}" for name in names.split()}
    assert "train/loss" not in second, "what is null is no figure"
    assert evaluated == {"eval/eval_loss": 1.2, "eval/perplexity": 3.32, "eval/epoch": 1}
    assert sampled == {"sample/1/right": 1}
    assert done["final/final_loss"] == 0.41 and done["verification/tokens_equal"] == 0.992
    assert read[0].time.isoformat() == "2026-11-21T12:00:03+00:00"


def test_the_samples_of_a_step_are_numbered():
    reader, line = Reader(), next(line for line in LINES if line["type"] == "sample")
    names = [list(reader.read({**line, "step": step}).values) for step in (50, 50, 100)]
    assert names == [["sample/1/right"], ["sample/2/right"], ["sample/1/right"]]


def test_settings_have_neither_texts_nor_folders():
    spec = json.loads(jobs.GOLDEN.read_text())
    spec["settings"].update(golden_prompts=["My parcel has not come."], reward_model="/secret/folder/judge")
    settings = settings_of(spec)
    assert settings["learning_rate"] == 2e-4 and settings["model"] == "owner/name"
    assert settings["reward_model"] == "judge"
    assert "parcel" not in str(settings) and "folder" not in str(settings)


def test_a_tracker_that_is_not_there_is_told_and_is_over(tmp_path):
    job = tmp_path / "job"
    job.mkdir()
    (job / "spec.json").write_text(jobs.GOLDEN.read_text())
    (job / "identity.json").write_text('{"display_name": "nightly"}')
    (job / "journal.jsonl").write_text("")
    command = [sys.executable, "-S", "-m", "trainer.tracking", "wandb", str(tmp_path), str(job)]
    ended = subprocess.run(command, cwd=jobs.ROOT, input="completed\n", capture_output=True, text=True)
    assert ended.returncode == 1 and "Traceback" in ended.stderr
    assert json.loads(ended.stdout) == {"failed": "ModuleNotFoundError: No module named 'wandb'"}
    assert json.loads((job / "tracker-wandb.json").read_text())["over"]
