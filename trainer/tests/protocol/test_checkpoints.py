"""Checkpoints are complete or do not count, and the oldest go first."""

import json
from pathlib import Path

import pytest

from trainer.protocol import checkpoints


def save(folder: Path, step: int, text: str = "weights") -> checkpoints.Checkpoint:
    written = checkpoints.temporary_folder(folder)
    (written / "adapter").mkdir()
    (written / "adapter" / "model.bin").write_text(text)
    return checkpoints.seal(written, folder, step, {"tokens": step})


def steps(folder: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("checkpoint-")) for path in folder.glob("checkpoint-*"))


def test_a_sealed_checkpoint_is_complete_and_replaces_that_of_its_step(tmp_path: Path) -> None:
    save(tmp_path, 5)
    save(tmp_path, 5, "others")
    found = checkpoints.complete(tmp_path, 5)
    assert found is not None and found.step == 5 and found.facts["tokens"] == 5
    assert (found.path / "adapter" / "model.bin").read_text() == "others"
    assert not (tmp_path / ".aside").exists()
    assert checkpoints.complete(tmp_path, 6) is None


def test_the_newest_is_by_number_not_by_name(tmp_path: Path) -> None:
    for step in (9, 10, 100):
        save(tmp_path, step)
    found, skipped = checkpoints.newest(tmp_path, to_train=False)
    assert found is not None and found.step == 100 and skipped == []


@pytest.mark.parametrize("damage", ["marker", "missing", "size", "json"])
def test_an_incomplete_one_is_skipped_with_the_reason(tmp_path: Path, damage: str) -> None:
    save(tmp_path, 1)
    path = save(tmp_path, 2).path
    file = path / "adapter" / "model.bin"
    if damage == "marker":
        (path / checkpoints.MARKER).unlink()
    elif damage == "missing":
        file.unlink()
    elif damage == "size":
        file.write_text("w")
    else:
        (path / checkpoints.MARKER).write_text(json.dumps({"step": 2})[:-1])
    found, skipped = checkpoints.newest(tmp_path, to_train=False)
    assert found is not None and found.step == 1
    assert [name for name, _ in skipped] == ["checkpoint-2"] and skipped[0][1]
    assert checkpoints.complete(tmp_path, 2) is None


def test_the_latest_are_kept_and_the_best_in_addition(tmp_path: Path) -> None:
    for step in range(1, 6):
        save(tmp_path, step)
    checkpoints.prune(tmp_path, 2, 1)
    assert steps(tmp_path) == [1, 4, 5]
    checkpoints.prune(tmp_path, 2, None)
    assert steps(tmp_path) == [4, 5]
    # One is kept in any case.
    checkpoints.prune(tmp_path, 0, None)
    assert steps(tmp_path) == [5]


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert checkpoints.newest(tmp_path / "none") == (None, [])
    checkpoints.prune(tmp_path / "none", 2, None)
