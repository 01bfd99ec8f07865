"""Several ranks together do what one process would do alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.libraries.accelerate import without_gathering
from trainer.libraries.transformers import (
    count_items,
    running_loss,
    save_random_state,
    with_used_columns,
    without_gathered_loss,
)
from trainer.libraries.trl import figures_of, tokens_of, without_figures
from trainer.protocol.rank import FOLDER
from trainer.training.parts.part import Batch, Loss, Part
from trainer.training.shared_figures import SharedFigures
from trainer.training.shared_weights import ignore_frozen

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.data import DataLoader

    from trainer.data.job import Job
    from trainer.training.shared_batches import Collate


class AllRanks(Part):
    """One of the ranks of `job`.

    A step's loss is divided by the number of its items at all ranks. Nothing in `loss_of` waits for the other
    ranks. What the library exchanges piece by piece, `share_step` does at once: the loss, the metrics, and
    the numbers of tokens and of operations.
    """

    job: Job
    data_collator: Collate
    current_flos: float

    def __init__(self, *args: object, **kwargs: object) -> None:
        from trainer.training.shared_batches import with_blanks

        super().__init__(*args, **kwargs)
        self.data_collator = with_blanks(
            self.data_collator, lambda: with_used_columns(self, self.train_dataset[0])
        )
        ignore_frozen(self.model)
        self.own_input_tokens = 0
        # Of the metrics that are logged next.
        self.means: dict[str, float] = {}

    @cached_property
    def figures(self) -> SharedFigures:
        """What the ranks count."""
        return SharedFigures(self.job.rank)

    def loader(
        self, usual: Callable[[], DataLoader[dict[str, Tensor]]], rows: object, training: bool
    ) -> DataLoader[dict[str, Tensor]]:
        from trainer.training.shared_batches import share_batches

        loader = super().loader(usual, rows, training)
        return loader if self.job.rank.world == 1 else share_batches(loader)

    def get_batch_samples(self, *args: object, **kwargs: object) -> tuple[list[dict[str, Tensor]], Tensor]:
        import torch

        batches, _ = super().get_batch_samples(*args, **kwargs)
        counted = [batch for batch in batches if not _is_blank(batch)]
        count = (count_items(self, counted) if counted else None) or 0
        return batches, torch.tensor(self.job.rank.all_reduce(count), device=self.args.device)

    def loss_of(self, batch: Batch) -> Loss:
        blank, trains = _is_blank(batch.inputs), batch.model.training
        with without_gathering(self.accelerator), without_figures(self) if blank else nullcontext():
            loss, outputs = super().loss_of(batch)
        # DDP averages the gradients; their sum is wanted.
        factor = (0 if blank else self.job.rank.world) if trains and batch.items is not None else 1
        return loss * factor, outputs

    def count_input_tokens(
        self, usual: Callable[[dict[str, Tensor]], None], inputs: dict[str, Tensor]
    ) -> None:
        if _is_blank(inputs) and "attention_mask" in inputs:
            inputs = {**inputs, "attention_mask": inputs["attention_mask"] * 0}
        before = self.state.num_input_tokens_seen
        with without_gathering(self.accelerator):
            super().count_input_tokens(usual, inputs)
        self.own_input_tokens += self.state.num_input_tokens_seen - before
        self.state.num_input_tokens_seen = before

    def share_step(self, decided: int) -> int:
        """Puts together what the ranks count in a step; returns what rank 0 `decided`."""
        loss = running_loss(self)
        own = [decided, loss.item(), self.current_flos, self.own_input_tokens, tokens_of(self)]
        gathered, self.means = self.figures.share(own, figures_of(self, True) or {})
        decisions, losses, operations, input_tokens, tokens = zip(*gathered, strict=True)
        loss.copy_(loss.new_tensor(losses).mean())
        self.state.total_flos += sum(operations)
        self.state.num_input_tokens_seen += int(sum(input_tokens))
        self.current_flos = self.own_input_tokens = 0
        if "num_tokens" in self.means:
            self.means["num_tokens"] = int(sum(tokens))
        return int(decisions[0])

    def store_flos(self) -> None:
        """Nothing: `share_step` has added them."""

    def after_step(self, usual: Callable[[], None]) -> None:
        with without_gathered_loss():
            super().after_step(usual)

    def log(self, *args: object, **kwargs: object) -> None:
        # TRL's trainers keep the values of every micro-batch and log their mean.
        training = self.model.training
        figures = figures_of(self, training)
        if figures is not None:
            if not training:
                gathered, self.means = self.figures.share([tokens_of(self)], figures)
                if "num_tokens" in self.means:
                    self.means["num_tokens"] = int(sum(tokens for (tokens,) in gathered))
            figures.clear()
            figures.update({name: [value] for name, value in self.means.items()})
            self.means = {}
        super().log(*args, **kwargs)

    def random_state(self) -> bytes:
        """This rank's random state, as the library stores it."""
        # Where nothing stays of a rank that is killed.
        shared = self.job.folder / FOLDER
        shared.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=shared) as folder:
            save_random_state(self, Path(folder))
            return next(Path(folder).iterdir()).read_bytes()


def _is_blank(inputs: object) -> bool:
    from trainer.training.shared_batches import Blank

    return isinstance(inputs, Blank)
