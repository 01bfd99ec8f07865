"""Rows laid end to end, of which some continue the beginning of another, which is computed once.

Answers to the same prompt, for example.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

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

    def position(self, row: int, token: int) -> int:
        """Where in the sequence the token number `token` of a row is."""
        shared = self.shared[row]
        return self.bases[row] + token if token < shared else self.starts[row] + token - shared

    def predictions(self, row: int, learned: range) -> list[int]:
        """Where the tokens `learned` of a row are predicted: by those before them."""
        return [self.position(row, token - 1) for token in learned]

    def tensors(self, device: torch.device | None = None) -> dict[str, Tensor]:
        """`input_ids` and `position_ids`, each (1, tokens)."""
        import torch

        named = (("input_ids", self.ids), ("position_ids", self.positions))
        return {name: torch.tensor([values], device=device) for name, values in named}


def grouped(rows: list[list[int]]) -> tuple[SharedRows, list[int]]:
    """`rows` with their common beginnings computed once, and where in it each of them is.

    The last token of a row is never shared. Rows that share most follow each other.
    """
    laid, positions = SharedRows(), [0] * len(rows)
    order = sorted(range(len(rows)), key=rows.__getitem__)
    first: list[int] = []
    for number, at in enumerate(order):
        row = rows[at]
        common = _common(first, row)
        following = (rows[later] for later in order[number + 1 :])
        if common < LEAST_SHARED or _gained(row, common, following) > common:
            first, common = row, 0
        laid.add(row, common)
        positions[at] = number
    return laid, positions


def _common(one: list[int], other: list[int]) -> int:
    """How many tokens two rows begin with alike, without the last of either."""
    most = max(0, min(len(one), len(other)) - 1)
    return next((position for position in range(most) if one[position] != other[position]), most)


def _gained(row: list[int], common: int, following: Iterable[list[int]]) -> int:
    """How many tokens less the rows `following` need where they continue `row`, which has only `common`
    tokens in common with the row that they continue otherwise: more than the beginning of a template."""
    gained = 0
    for other in following:
        more = _common(row, other) - common
        if more <= 0:
            break
        gained += more
    return gained
