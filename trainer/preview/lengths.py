"""How many tokens the rows of a dataset have for a model, and how many of them are learned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from trainer.data import rows
from trainer.data.encode import Encoded
from trainer.data.lengths import choose_length
from trainer.data.pairs import ANSWERS
from trainer.data.preferences import answers_of
from trainer.data.sequences import sequences_of
from trainer.preview.preview import open_job
from trainer.protocol.print_result import print_result

if TYPE_CHECKING:
    from trainer.data.job import Job
    from trainer.protocol.row import Row

# What a row (or each of its sequences) has at a maximum length: its tokens before it is truncated, those that
# are trained, and those that are learned.
Counts = tuple[int, int, int]


def lengths(spec_path: str, downloaded: bool = False) -> int:
    """Prints the lengths of a specification's rows as `print_result`; returns the exit status."""
    return print_result(lambda: _lengths(spec_path, downloaded))


def _lengths(spec_path: str, downloaded: bool) -> dict[str, object]:
    job = open_job(spec_path, ["lengths", spec_path], downloaded)
    known: list[int] = []
    if job.settings.max_seq_length <= 0:
        known = [total for parts in _counted(job, None) for total, *_ in parts]
    length = choose_length(job, known)
    by_row = list(_counted(job, length))
    counts = [each for parts in by_row for each in parts]
    trained = sum(kept for _, kept, _ in counts)
    learned = sum(learned for *_, learned in counts)
    return {
        "max_seq_length": length,
        "totals": [total for total, *_ in counts],
        "row_totals": [max((total for total, *_ in parts), default=0) for parts in by_row],
        # A model with a head for questions learns two places of each row.
        "learned_share": learned / trained if trained and job.family != "extractive" else None,
    }


def _counted(job: Job, length: int | None) -> Iterator[list[Counts]]:
    """What each row has, or each of its sequences."""
    count: Callable[[Job, list[Row], int], list[list[Counts]]] = _sequences
    if job.shape in ANSWERS:
        count = _pairs
    elif job.family != "causal":
        count = _seq2seq if job.family == "seq2seq" else _questions
    every = rows.read_rows(job.spec.dataset.path, job.fields)
    while batch := list(islice(every, rows.BATCH_ROWS)):
        yield from rows.in_rows(batch, lambda some: count(job, some, length or sys.maxsize))


def _sequences(job: Job, batch: list[Row], length: int) -> list[list[Counts]]:
    """As `trainer.data.sequences` makes them: without those that lose all that is learned. Of a long text,
    every part is trained."""
    limit = sys.maxsize if job.shape == "text" else length

    def counts(each: Encoded) -> Counts:
        learned = each.learned_tokens(limit)
        trains = learned > 0 or job.shape == "prompt"
        return len(each.input_ids), min(len(each.input_ids), limit) if trains else 0, learned

    return [[counts(each) for each in sequences] for sequences in sequences_of(job, batch)]


def _pairs(job: Job, batch: list[Row], length: int) -> list[list[Counts]]:
    """As `trainer.data.preferences` makes them: longer pairs are dropped."""
    encoded = [answers_of(job, batch, answer) for answer in ANSWERS[job.shape]]
    found = []
    for at, prompt in enumerate(encoded[0][0]):
        answers = [len(ids[at]) for _, ids in encoded]
        total, learned = len(prompt) + max(answers), sum(answers)
        kept = total <= length
        found.append([(total, (len(answers) * len(prompt) + learned) * kept, learned * kept)])
    return found


def _seq2seq(job: Job, batch: list[Row], length: int) -> list[list[Counts]]:
    """As `trainer.families.seq2seq` makes them: input and output are truncated each by itself."""
    turns = [job.messages(row) for row in batch]
    sources = job.tokenizer([each[0]["content"] for each in turns]).input_ids
    targets = job.tokenizer(text_target=[each[-1]["content"] for each in turns]).input_ids
    return [
        [(max(map(len, pair)), sum(min(len(ids), length) for ids in pair), min(len(pair[1]), length))]
        for pair in zip(sources, targets, strict=True)
    ]


def _questions(job: Job, batch: list[Row], length: int) -> list[list[Counts]]:
    """Question and context together, as `trainer.families.extractive` counts them."""
    ids = job.tokenizer([row["question"] for row in batch], [row["context"] for row in batch]).input_ids
    return [[(len(row), min(len(row), length), 0)] for row in ids]
