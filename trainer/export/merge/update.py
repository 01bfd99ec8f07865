"""What an adapter changes of one tensor of its base model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from trainer.export.merge.weights import StoredTensor
from trainer.model.names import Part

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class LowRank:
    """scale · B·A of one module; where `transposed`, of the transpose of its weight. `scale` is the adapter's
    alpha by the rank, or by its root (`by_root`: rsLoRA). With a `magnitude`, the sum's norm for each output
    of the module becomes that (DoRA, Liu et al. 2024, equation 5)."""

    lora_a: StoredTensor | None = None
    lora_b: StoredTensor | None = None
    scale: float = 1.0
    transposed: bool = False
    by_root: bool = False
    magnitude: StoredTensor | None = None

    @property
    def stored(self) -> tuple[StoredTensor, StoredTensor]:
        """A and B, both of which were found when the adapter was read."""
        assert self.lora_a is not None and self.lora_b is not None
        return self.lora_a, self.lora_b

    @property
    def shape(self) -> tuple[int, int]:
        """That of the weight."""
        a, b = self.stored
        whole = (b.shape[0], a.shape[1])
        return whole[::-1] if self.transposed else whole

    def factors(self) -> tuple[Tensor, Tensor]:
        """The factors (b, a) in float32 with scale · b·a = the update of the weight."""
        a, b = (stored.read() for stored in self.stored)
        return (a.T, b.T) if self.transposed else (b, a)

    def delta(self) -> Tensor:
        """The update of the weight, float32, as PEFT's `get_delta_weight` computes it."""
        a, b = (stored.read() for stored in self.stored)
        product = b @ a
        return (product.T if self.transposed else product) * self.scale

    def with_magnitude(self, rows: Tensor, first: int) -> Tensor:
        """The sum `rows`, which begin with the row `first` of the weight, as PEFT's merge of DoRA."""
        import torch

        assert self.magnitude is not None
        magnitude = self.magnitude.read()
        if self.transposed:
            return rows * (magnitude / torch.linalg.norm(rows.T, dim=1))
        wanted = magnitude[first : first + len(rows)]
        return rows * (wanted / torch.linalg.norm(rows, dim=1))[:, None]


@dataclass
class OfExpert(LowRank):
    """That of one of `experts`, whose updates are stored together (PEFT's `ParamWrapper`): A (experts · rank,
    in), B (out, rank · experts). Where `transposed`, the weight of an expert is (in, out)."""

    experts: int = 1
    expert: int = 0

    def factors(self) -> tuple[Tensor, Tensor]:
        """As those of one module."""
        a, b = map(_whole, self.stored)
        a = a.view(self.experts, -1, a.shape[1])[self.expert]
        b = b.view(b.shape[0], -1, self.experts)[:, :, self.expert]
        return (a.T, b.T) if self.transposed else (b, a)

    def delta(self) -> Tensor:
        """As that of one module."""
        b, a = self.factors()
        return (b @ a) * self.scale


@lru_cache(maxsize=4)
def _whole(stored: StoredTensor) -> Tensor:
    """A factor of all experts, which is read for one after the other."""
    return stored.read()


@dataclass
class Update:
    """The adapter's update of one base tensor: `parts`, updates of modules with the rows that they share with
    the tensor; or `replacement` instead of it, or of its rows with the numbers in `rows`."""

    parts: list[tuple[LowRank, Part]] = field(default_factory=list)
    replacement: StoredTensor | None = None
    rows: list[int] | None = None

    def apply(self, weight: Tensor) -> Tensor:
        """The merged tensor in float32, bit for bit as PEFT's `merge_and_unload` computes it in float32;
        `weight` (float32) is changed in place."""
        if self.replacement is not None:
            if self.rows is None:
                return self.replacement.read()
            weight[self.rows] = self.replacement.read()
            return weight
        for update, part in self.parts:
            of = weight if part.expert is None else weight[part.expert]
            rows = of[part.at : part.at + part.rows]
            rows += update.delta()[part.row : part.row + part.rows]
            if update.magnitude is not None:
                rows.copy_(update.with_magnitude(rows, part.row))
        return weight

    def factors(self, rows: int) -> tuple[Tensor, Tensor]:
        """The factors (b, a) in float32 with b·a = the update of the base tensor, which has so many rows."""
        import torch

        columns, below = [], []
        for update, part in self.parts:
            b, a = update.factors()
            column = b.new_zeros(rows, b.shape[1])
            column[part.at : part.at + part.rows] = b[part.row : part.row + part.rows] * update.scale
            columns.append(column)
            below.append(a)
        return torch.cat(columns, dim=1), torch.cat(below)
