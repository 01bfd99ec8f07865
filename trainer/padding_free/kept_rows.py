"""The keys and values of rows that are continued together.

Imports torch and transformers; import it inside functions.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from transformers import Cache

if TYPE_CHECKING:
    from torch import Tensor

# Columns that are added when there is no room for another token.
MORE_COLUMNS = 16
# How much of the longest row of a group on a CPU the shortest has at least, less so many tokens.
LEAST_SHARE = 0.75
MISSED = 8


class KeptRows(Cache):
    """Rows that begin with the beginnings of these `lengths`: the row at each index with that of `owners`, in
    which the shorter ones come first.

    First the model takes the beginnings, laid end to end, some at a time: `take` says which; then `write`
    makes room for another token of every row. On a CPU rows of similar lengths are a group, so that little is
    kept and attended to for nothing, and they are kept in float32, in which one token's attention takes half
    the time of bfloat16.
    """

    def __init__(self, lengths: list[int], owners: list[int], device: str) -> None:
        super().__init__(layers=[])
        parts = _alike(lengths, owners) if device == "cpu" else [owners]
        self._groups = [_Group(lengths, part) for part in parts]
        self._taken: range | None = None
        self._layer = 0
        # By layer: how many numbers the keys and values of a token are. Layers may differ.
        self.sizes: dict[int, int] = {}

    def take(self, beginnings: range) -> None:
        """The next pass has the tokens of these of the rows' beginnings."""
        self._taken = beginnings

    def write(self) -> None:
        """The next pass has one more token of every row."""
        begun, self._taken = self._taken is not None, None
        for group in self._groups:
            group.write(begun)

    def leave(self, indices: set[int]) -> list[int]:
        """Forgets the rows at these indices; returns for each index where its row was before."""
        order: list[int] = []
        start = 0
        for group in self._groups:
            count = len(group.lengths)
            order += [start + row for row in group.leave({index - start for index in indices})]
            start += count
        self._groups = [group for group in self._groups if group.lengths]
        return order

    def update(
        self, key: Tensor, value: Tensor, layer: int, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Keeps the keys and values of a pass; `attend` attends to them."""
        self._layer = layer
        self.sizes[layer] = sum(part.shape[1] * part.shape[3] for part in (key, value))
        start = 0
        for group in self._groups:
            if self._taken is not None:
                group.begin(key, value, layer, self._taken)
            else:
                end = start + len(group.lengths)
                group.add(key[start:end], value[start:end], layer)
                start = end
        return key, value

    def attend(self, query: Tensor, scaling: float | None, window: int | None) -> Tensor:
        """Attention of `query` (rows, heads, 1, size) to what the layer that was updated last has; returns
        (rows, 1, heads, size)."""
        found = []
        start = 0
        for group in self._groups:
            end = start + len(group.lengths)
            found.append(group.attend(query[start:end], self._layer, scaling, window))
            start = end
        return torch.cat(found)


def _alike(lengths: list[int], owners: list[int]) -> list[list[int]]:
    """`owners`, of which the shorter ones come first, in parts of similar lengths."""
    parts: list[list[int]] = []
    least = 0.0
    for owner in reversed(owners):
        if lengths[owner] < least or not parts:
            parts.append([])
            least = LEAST_SHARE * lengths[owner] - MISSED
        parts[-1].append(owner)
    return [part[::-1] for part in reversed(parts)]


class _Group:
    """All rows end at the same column, the shorter ones begin later."""

    def __init__(self, lengths: list[int], owners: list[int]) -> None:
        self.owners = owners
        # Of the beginnings, and of those of the rows that are left.
        self._beginnings = lengths
        self.lengths = [lengths[owner] for owner in owners]
        # The column that is written next, and the first that a row has.
        self.column = self._width = max(self.lengths)
        self.first = 0
        self._columns = self.column + MORE_COLUMNS
        # By layer: (rows, heads, columns, size) of keys and of values.
        self._parts: dict[int, list[Tensor]] = {}
        self._hidden: Tensor | None = None

    def write(self, begun: bool) -> None:
        """Makes room for another token of every row, the first one where they have only `begun`."""
        self.column += not begun
        if self.column == self._columns:
            self._columns += MORE_COLUMNS
            for parts in self._parts.values():
                for at, part in enumerate(parts):
                    old = part[: len(self.lengths)]
                    parts[at] = old.new_empty(*old.shape[:2], self._columns, old.shape[3])
                    parts[at][:, :, : self.column] = old
        self._look()

    def leave(self, rows: set[int]) -> list[int]:
        """Forgets these of the rows; returns which row is at each index now: the last ones have moved to
        the indices of those that left."""
        left = [row for row in range(len(self.lengths)) if row not in rows]
        moved = [row for row in left if row >= len(left)]
        order = [moved.pop() if row in rows else row for row in range(len(left))]
        for index, row in enumerate(order):
            if index != row:
                for parts in self._parts.values():
                    for part in parts:
                        part[index, :, : self.column + 1] = part[row, :, : self.column + 1]
        self.lengths = [self.lengths[row] for row in order]
        return order

    def add(self, key: Tensor, value: Tensor, layer: int) -> None:
        """Keeps the keys and values of another token of every row."""
        for part, new in zip(self._parts[layer], (key, value), strict=True):
            part[: len(self.lengths), :, self.column] = new[:, :, 0]

    def begin(self, key: Tensor, value: Tensor, layer: int, taken: range) -> None:
        """Keeps those of the beginnings `taken`, which are laid end to end, that rows have."""
        if layer not in self._parts:
            dtype = torch.float32 if key.device.type == "cpu" else key.dtype
            shape = len(self.lengths), key.shape[1], self._columns
            self._parts[layer] = [new.new_empty(*shape, new.shape[3], dtype=dtype) for new in (key, value)]
            for part in self._parts[layer]:
                # What is hidden is multiplied with 0, so it must be finite.
                part[:, :, : self.column] = 0
        ends = dict(zip(taken, accumulate(self._beginnings[at] for at in taken), strict=True))
        for row, owner in enumerate(self.owners):
            if owner in ends:
                length = self._beginnings[owner]
                pieces = slice(ends[owner] - length, ends[owner])
                for part, new in zip(self._parts[layer], (key, value), strict=True):
                    part[row, :, self.column - length : self.column] = new[0, :, pieces]

    def _look(self) -> None:
        """Finds what no row has, and what only some have."""
        longest = max(self.lengths)
        self.first = self._width - longest
        if min(self.lengths) == longest:
            self._hidden = None
            return
        device = next(iter(self._parts.values()))[0].device
        begins = torch.tensor([self._width - length for length in self.lengths], device=device)
        columns = torch.arange(self.first, self.column + 1, device=device)
        hidden = torch.zeros(len(self.lengths), len(columns), device=device)
        self._hidden = hidden.masked_fill_(columns < begins[:, None], float("-inf"))[:, None, None]

    def attend(self, query: Tensor, layer: int, scaling: float | None, window: int | None) -> Tensor:
        """Attention of the group's part of `query`."""
        rows, heads, _, size = query.shape
        first = self.first if window is None else max(self.first, self.column + 1 - window)
        key, value = (part[:rows, :, first : self.column + 1] for part in self._parts[layer])
        groups, length = key.shape[1:3]
        asked = query.reshape(rows * groups, heads // groups, size).to(key.dtype)
        asked = asked * (size**-0.5 if scaling is None else scaling)
        scores = torch.bmm(asked, key.flatten(0, 1).transpose(1, 2))
        if self._hidden is not None:
            scores.view(rows, groups, heads // groups, -1).add_(self._hidden[..., -length:])
        answer = torch.bmm(scores.softmax(-1, dtype=torch.float32).to(value.dtype), value.flatten(0, 1))
        return answer.view(rows, 1, heads, -1).to(query.dtype)
