"""What a teacher has said, in files of the job's folder: they are read where they lie, and are complete up to
the last row that was written."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trainer.protocol.durable import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trainer.training.teaching.asked import Asked

FOLDER = "teacher"
LOG_PROBABILITIES, TOKENS, NOTE = "log_probabilities.f32", "tokens.i32", "done.json"
# Of a float32, and of a token's number.
BYTES = 4


def forget(folder: Path) -> None:
    """Removes what a teacher has said from the job's folder `folder`."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


class Shape(NamedTuple):
    """Of each predicted token, the log-probabilities of the `kept` likeliest of `words` tokens are stored;
    and that of all others together, unless all are kept."""

    kept: int
    words: int

    @property
    def whole(self) -> bool:
        """Whether all tokens are kept, in their order."""
        return self.kept == self.words

    @property
    def columns(self) -> int:
        """The log-probabilities of each predicted token."""
        return self.kept if self.whole else self.kept + 1

    @property
    def bytes_per_token(self) -> int:
        """What each predicted token takes on the disk."""
        return BYTES * (self.columns + (0 if self.whole else self.kept))


class Kept:
    """The answers to `asked`, in this order, in `folder`. Those of another question are removed."""

    def __init__(self, folder: Path, shape: Shape, asked: Sequence[Asked], question: object) -> None:
        import numpy as np

        self.folder, self.shape, self.asked = folder, shape, asked
        keys = np.array([row.key for row in asked], dtype=np.uint64)
        self._ends = np.cumsum([0, *(row.learned for row in asked)])
        self._places = {row.key: place for place, row in enumerate(asked)}
        digest = hashlib.sha256(json.dumps([question, *shape]).encode() + keys.tobytes()).hexdigest()
        note = folder / NOTE
        found = json.loads(note.read_text("utf-8")) if note.exists() else {}
        if found.get("question") != digest:
            shutil.rmtree(folder, ignore_errors=True)
            found = {}
        self._question, self.rows = digest, int(found.get("rows", 0))

    @property
    def complete(self) -> bool:
        """Whether all rows are answered."""
        return self.rows == len(self.asked)

    @property
    def bytes_to_write(self) -> int:
        """The bytes that are still to be written."""
        return int(self._ends[-1] - self._ends[self.rows]) * self.shape.bytes_per_token

    def add(self, rows: int, log_probabilities: NDArray[np.float32], tokens: NDArray[np.int32]) -> None:
        """Writes the answers to the next so many rows: `log_probabilities` (tokens, columns), and unless all
        are kept, `tokens` (tokens, kept). They are on the disk when it returns."""
        self.folder.mkdir(exist_ok=True)
        there = int(self._ends[self.rows])
        for name, values in ((LOG_PROBABILITIES, log_probabilities), (TOKENS, tokens)):
            if name == TOKENS and self.shape.whole:
                continue
            path = self.folder / name
            with open(path, "r+b" if path.exists() else "w+b") as file:
                # A killed run may have left a part of a row.
                file.truncate(there * BYTES * values.shape[1])
                file.seek(0, os.SEEK_END)
                file.write(values.tobytes())
                file.flush()
                os.fsync(file.fileno())
        self.rows += rows
        write_json(self.folder / NOTE, {"question": self._question, "rows": self.rows})

    def of(self, keys: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.int32] | None]:
        """The log-probabilities (tokens, columns) of the predicted tokens of the rows with these `keys`, one
        row after another, and the tokens that the first `kept` of them are of, or None if all are kept."""
        import numpy as np

        places = [self._places[key] for key in keys]
        at = np.concatenate([np.arange(self._ends[place], self._ends[place + 1]) for place in places])
        log_probabilities = self._open(LOG_PROBABILITIES, "float32", self.shape.columns)[at]
        if self.shape.whole:
            return log_probabilities, None
        return log_probabilities, self._open(TOKENS, "int32", self.shape.kept)[at]

    def _open(self, name: str, kind: str, columns: int) -> NDArray[Any]:
        import numpy as np

        total = int(self._ends[-1])
        return np.memmap(self.folder / name, dtype=kind, mode="r", shape=(total, columns))
