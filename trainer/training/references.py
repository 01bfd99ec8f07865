"""What the base model says of preference pairs, computed once for each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from trainer.protocol.rank import Rank

FILE = "references.safetensors"

# The log-probabilities of a pair's chosen and rejected answer.
Pair = tuple[float, float]


class References:
    """The log-probabilities of both answers of pairs under the base model, by the keys of the pairs.

    They depend, by rounding, on the batch in which they were computed. So that a run that is resumed trains
    as the one that was not, its checkpoints have them; and so that ranks train as one process, they share
    theirs.
    """

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self.known: dict[int, Pair] = {}
        # Of those, the ones that the other ranks do not have yet.
        self.unshared: dict[int, Pair] = {}

    def of(self, keys: list[int], compute: Callable[[], Tensor], keep: bool) -> Tensor:
        """The references (pairs, 2) of the pairs of a batch with these `keys`: float32 on the CPU.

        `compute` returns those of all of them; it is called when one is unknown. `keep` keeps them.
        """
        import torch

        found = [self.known.get(key) for key in keys]
        if None not in found:
            return torch.tensor(found, dtype=torch.float32)
        computed = compute().float().cpu()
        if keep:
            for key, pair, before in zip(keys, computed.tolist(), found, strict=True):
                if before is None:
                    self.known[key] = self.unshared[key] = (pair[0], pair[1])
        return computed

    def share(self) -> None:
        """Gives all ranks what each has computed; all must call it."""
        gathered = self.rank.all_gather(self.unshared)
        self.unshared = {}
        agreed: dict[int, Pair] = {}
        for pairs in gathered:
            for key, pair in pairs.items():
                agreed.setdefault(key, pair)
        self.known.update(agreed)

    def save(self, folder: Path) -> None:
        """Writes them to a file in `folder`."""
        import torch
        from safetensors.torch import save_file

        pairs = torch.tensor(list(self.known.values()), dtype=torch.float32).view(-1, 2)
        save_file({"keys": torch.tensor(list(self.known), dtype=torch.int64), "pairs": pairs}, folder / FILE)

    def load(self, folder: Path) -> None:
        """Reads the file that `save` wrote, if there is one."""
        if not (folder / FILE).exists():
            return
        from safetensors.torch import load_file

        found: Mapping[str, Tensor] = load_file(folder / FILE)
        for key, (chosen, rejected) in zip(found["keys"].tolist(), found["pairs"].tolist(), strict=True):
            self.known[key] = (chosen, rejected)
