"""Which rows are held out: whole groups of equal rows; and what is told of validation rows that are known."""

from __future__ import annotations

import pytest
from datasets import Dataset

from trainer.data.rows import random_split, row_contents
from trainer.tests import jobs
from trainer.tests.tiny import sentences


def dataset(contents: list[list[list[int]]]) -> Dataset:
    """Rows with the token ids of their sequences, numbered from 1."""
    records = [
        {"row": number, "input_ids": ids, "labels": ids}
        for number, sequences in enumerate(contents, 1)
        for ids in sequences
    ]
    return Dataset.from_list(records)


@pytest.mark.parametrize("sequences", [1, 2])
def test_equal_rows_are_held_out_together(sequences):
    # 60 rows, every other one written twice, in any order.
    contents = [[[number % 40, part] for part in range(sequences)] for number in range(60)]
    for seed in range(5):
        training, held_out = random_split(dataset(contents), 0.1, seed)
        trained, kept = ({tuple(ids) for ids in part["input_ids"]} for part in (training, held_out))
        assert not trained & kept
        assert len(set(held_out["row"])) == 6
        assert len(training) + len(held_out) == 60 * sequences


def test_rows_are_equal_when_all_of_their_sequences_are():
    # The sequences of two of them, joined, are the same.
    contents = row_contents(dataset([[[1, 2], [3]], [[1], [2, 3]], [[1, 2], [3]], [[1, 2, 3]]]))
    assert [contents[0] == other for other in contents[1:]] == [False, True, False]


def test_without_repeats_a_split_is_as_it_was_before_groups():
    rows = dataset([[[number]] for number in range(30)])
    expected = rows.train_test_split(test_size=3, seed=7, shuffle=True)
    assert [part["row"][:] for part in random_split(rows, 0.1, 7)] == [
        expected["train"]["row"][:],
        expected["test"]["row"][:],
    ]


def test_large_groups_leave_both_parts_some_rows():
    two = dataset([[[number // 20]] for number in range(40)])
    training, held_out = random_split(two, 0.1, 1)
    assert [len(training), len(held_out)] == [20, 20]
    # Rows that are all equal are split, because there must be both parts.
    one = dataset([[[1]] for _ in range(40)])
    assert [len(part) for part in random_split(one, 0.1, 1)] == [36, 4]


def test_validation_rows_that_are_trained_on_are_told(models, tmp_path):
    rows = [
        {"input": f"{number} {text}", "output": reply} for number, (text, reply) in enumerate(sentences(16))
    ]
    spec = jobs.make(tmp_path, models("llama"), rows[:12], validation=rows[9:], max_steps=1)
    assert jobs.train(spec) == 0
    (warning,) = [line for line in jobs.journal(spec, "warning") if line["code"] == "validation_overlap"]
    assert warning["message"].startswith("3 of the 7 validation rows are also in the training dataset")
