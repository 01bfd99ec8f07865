"""The keys and values of rows that are continued together.

Imports torch and transformers; import it inside functions.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import Cache

# Columns that are added when there is no room for another token.
MORE_COLUMNS = 64


class KeptRows(Cache):
    """Rows whose beginnings have these `lengths`, of each of which there are as many `copies`.

    All rows end at the same column, the shorter ones begin later. First the model takes the beginnings, laid
    end to end, some at a time: `take` says which; then `write` makes room for another token of every row.
    On a CPU they are kept in float32, in which one token's attention takes half the time of bfloat16.
    """

    def __init__(self, lengths: list[int], copies: list[int]) -> None:
        super().__init__(layers=[])
        self.copies = copies
        # Of every row that is left.
        self.lengths = [length for length, number in zip(lengths, copies, strict=True) for _ in range(number)]
        # The column that is written next, and the first that a row has.
        self.column = self._width = max(lengths)
        self.first = 0
        self._beginnings = lengths
        self._taken: range | None = None
        self._columns = self.column + MORE_COLUMNS
        # By layer: (rows, heads, columns, size) of keys and of values.
        self._parts: dict[int, list[Any]] = {}
        self._hidden: Any = None

    def take(self, beginnings: range) -> None:
        """The next pass has the tokens of these of the rows' beginnings."""
        self._taken = beginnings

    def write(self) -> None:
        """The next pass has one more token of every row."""
        if self._taken is not None:
            self._taken = None
        else:
            self.column += 1
        if self.column == self._columns:
            self._columns += MORE_COLUMNS
            for parts in self._parts.values():
                for at, part in enumerate(parts):
                    rows = part[: len(self.lengths)]
                    more = rows.new_empty(*rows.shape[:2], MORE_COLUMNS, rows.shape[3])
                    parts[at] = torch.cat([rows, more], dim=2)
        self._look()

    def leave(self, row: int) -> None:
        """Forgets a row; the last one takes its place."""
        last = len(self.lengths) - 1
        if row != last:
            for parts in self._parts.values():
                for part in parts:
                    part[row] = part[last]
            self.lengths[row] = self.lengths[last]
        self.lengths.pop()

    def update(self, key: Any, value: Any, layer: int, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Keeps the keys and values of a pass; returns those to attend to."""
        if self._taken is not None:
            self._begin(key, value, layer)
            return key, value
        count = len(self.lengths)
        found = []
        for part, new in zip(self._parts[layer], (key, value), strict=True):
            part[:count, :, self.column] = new[:, :, 0]
            found.append(part[:count, :, self.first : self.column + 1])
        return found[0], found[1]

    def _begin(self, key: Any, value: Any, layer: int) -> None:
        if layer not in self._parts:
            dtype = torch.float32 if key.device.type == "cpu" else key.dtype
            # What is hidden is multiplied with 0, so it must be finite.
            shape = len(self.lengths), key.shape[1], self._columns
            self._parts[layer] = [
                torch.zeros(*shape, new.shape[3], dtype=dtype, device=new.device) for new in (key, value)
            ]
        lengths = [self._beginnings[at] for at in self._taken]
        rows = sum(self.copies[: self._taken.start])
        pieces = zip(*(new[0].split(lengths, dim=1) for new in (key, value)), strict=True)
        for at, length, both in zip(self._taken, lengths, pieces, strict=True):
            end = rows + self.copies[at]
            for part, piece in zip(self._parts[layer], both, strict=True):
                part[rows:end, :, self.column - length : self.column] = piece
            rows = end

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

    def attend(self, query: Any, key: Any, value: Any, scaling: float | None, window: int | None) -> Any:
        """Attention of `query` (rows, heads, 1, size) to `key` and `value` (rows, groups, columns, size) as
        `update` returned them; returns (rows, 1, heads, size)."""
        rows, heads, _, size = query.shape
        groups, length = key.shape[1:3]
        hidden = self._hidden
        if window is not None and window < length:
            key, value = key[:, :, -window:], value[:, :, -window:]
            hidden = None if hidden is None else hidden[..., -window:]
        asked = query.reshape(rows * groups, heads // groups, size).to(key.dtype)
        asked = asked * (size**-0.5 if scaling is None else scaling)
        scores = torch.bmm(asked, key.flatten(0, 1).transpose(1, 2))
        if hidden is not None:
            scores.view(rows, groups, heads // groups, -1).add_(hidden)
        answer = torch.bmm(scores.softmax(-1, dtype=torch.float32).to(value.dtype), value.flatten(0, 1))
        return answer.view(rows, 1, heads, -1).to(query.dtype)
