"""Which rows a teacher is asked about, and how they are told apart: by their tokens, not by their place."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from trainer.data.encode import IGNORED

if TYPE_CHECKING:
    import numpy as np
    from datasets import Dataset
    from numpy.typing import NDArray
    from torch import Tensor

# Rows that are read at once.
READ_ROWS = 1000


class Asked(NamedTuple):
    """A row that a teacher is asked about: `key` (of `key_of`), its number of tokens and that of those that
    are learned, and its place: whether it is held out, and where it is `at` there."""

    key: int
    tokens: int
    learned: int
    held_out: bool
    at: int


def key_of(ids: NDArray[np.int32], learned: NDArray[np.bool_]) -> int:
    """64 bits of a digest of a row: its tokens, and whether each is learned. The first never is, because
    nothing predicts it."""
    learned = learned.copy()
    learned[:1] = False
    digest = hashlib.blake2b(ids.astype("int32").tobytes() + learned.tobytes(), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def asked_rows(training: Dataset, held_out: Dataset | None) -> list[Asked]:
    """What a teacher is asked, each row once, the longest first: rows of a batch are then about as long."""
    import numpy as np

    found: dict[int, Asked] = {}
    for is_held_out, dataset in ((False, training), (True, held_out)):
        if dataset is None:
            continue
        at = 0
        chosen = dataset.select_columns(["input_ids", "labels"]).with_format("numpy")
        for batch in chosen.iter(READ_ROWS):
            for ids, labels in zip(batch["input_ids"], batch["labels"], strict=True):
                learned = np.asarray(labels) != IGNORED
                key, count = key_of(np.asarray(ids), learned), int(learned[1:].sum())
                if count and key not in found:
                    found[key] = Asked(key, len(ids), count, is_held_out, at)
                at += 1
    return sorted(found.values(), key=lambda row: (-row.tokens, row.key))


def keys_in(inputs: dict[str, Tensor]) -> list[int]:
    """The keys of the rows in a batch, in their order: padded (`attention_mask`), or one after another
    (`position_ids`, which restart with each row). Rows of which nothing is learned are left out."""
    ids = inputs["input_ids"].cpu().numpy()
    learned = inputs["labels"].cpu().numpy() != IGNORED
    if "position_ids" in inputs:
        starts = [
            (row, int(at))
            for row, positions in enumerate(inputs["position_ids"].cpu().numpy())
            for at in (positions == 0).nonzero()[0]
        ]
        ends = [
            later[1] if later[0] == row else ids.shape[1]
            for (row, _), later in zip(starts, [*starts[1:], (-1, 0)], strict=True)
        ]
        spans = [(row, start, end) for (row, start), end in zip(starts, ends, strict=True)]
    else:
        seen = inputs["attention_mask"].cpu().numpy().sum(1)
        spans = [(row, 0, int(count)) for row, count in enumerate(seen)]
    return [
        key_of(ids[row, start:end], learned[row, start:end])
        for row, start, end in spans
        if learned[row, start + 1 : end].any()
    ]
