"""Rows laid end to end, of which some continue the beginning of another, which is computed once.

Answers to the same prompt, for example.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# A shorter common beginning saves less than it costs.
LEAST_SHARED = 4


@dataclass
class SharedRows:
    """One concatenated sequence: `ids` and their `positions`; its parts have `row_lengths`, and each
    continues `shared` tokens of the nearest part before it that has a 0 there, as `attend` takes them."""

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    row_lengths: list[int] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)
    # Where in the sequence each part and the part that it continues begin.
    starts: list[int] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)

    def add(self, row: list[int], shared: int) -> None:
        """Adds `row`, of which the first `shared` tokens are those of the last row that shares none."""
        start = len(self.ids)
        self.ids += row[shared:]
        self.positions += range(shared, len(row))
        self.row_lengths.append(len(row) - shared)
        self.shared.append(shared)
        self.starts.append(start)
        self.bases.append(self.bases[-1] if shared else start)

    def place(self, row: int, token: int) -> int:
        """Where in the sequence the token number `token` of a row is."""
        shared = self.shared[row]
        return self.bases[row] + token if token < shared else self.starts[row] + token - shared

    def predictions(self, row: int, learned: range) -> list[int]:
        """Where the tokens `learned` of a row are predicted: by those before them."""
        return [self.place(row, token - 1) for token in learned]

    def tensors(self, device: Any = None) -> dict[str, Any]:
        """`input_ids` and `position_ids`, each (1, tokens)."""
        import torch

        named = (("input_ids", self.ids), ("position_ids", self.positions))
        return {name: torch.tensor([values], device=device) for name, values in named}


def grouped(rows: list[list[int]]) -> tuple[SharedRows, list[int]]:
    """`rows` with their common beginnings computed once, and where in it each of them is.

    The last token of a row is never shared. Rows that share most follow each other.
    """
    laid, places = SharedRows(), [0] * len(rows)
    first: list[int] = []
    for number, at in enumerate(sorted(range(len(rows)), key=rows.__getitem__)):
        row = rows[at]
        most = min(len(first), len(row)) - 1
        common = next((place for place in range(most) if first[place] != row[place]), max(0, most))
        if common < LEAST_SHARED:
            first, common = row, 0
        laid.add(row, common)
        places[at] = number
    return laid, places
