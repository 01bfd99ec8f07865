"""What Hone reads of a `datasets.Dataset` beside its public interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.libraries.versions import require

if TYPE_CHECKING:
    import numpy as np
    from datasets import Dataset

require("datasets")


def in_row_order(dataset: Dataset, values: np.ndarray) -> np.ndarray:
    """`values` of the rows of `dataset.data`, in the order of its own rows, which may be selected or
    shuffled. The public way, `flatten_indices`, copies all columns."""
    return values if dataset._indices is None else values[dataset._indices.column(0).to_numpy()]


def fingerprint(dataset: Dataset) -> str:
    """What identifies the rows of `dataset`, to name a file with what is made of them. Without it,
    `Dataset.map` would take the digest of a function and of all that it refers to, the tokenizer included."""
    return dataset._fingerprint
