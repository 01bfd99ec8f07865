"""A trainer class whose ranks together do what one process would do alone.

Imports transformers; import it inside functions.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from transformers import trainer as library

from trainer.protocol.rank import FOLDER
from trainer.training.probe import training_row
from trainer.training.shared_batches import Blank, share_batches, with_blanks
from trainer.training.shared_figures import SharedFigures
from trainer.training.shared_weights import ignore_frozen

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import Tensor
    from torch.utils.data import DataLoader
    from transformers import PreTrainedModel, Trainer

    from trainer.data.job import Job
    from trainer.training.shared_batches import Collate


def ranked_trainer(base: type, job: Job) -> type:
    """A subclass of `base`, a trainer class of the library, for several ranks.

    A step's loss is divided by the number of its items at all ranks. Nothing in `compute_loss` waits for the
    other ranks. What the library exchanges piece by piece, `share_step` does at once: the loss, the metrics,
    and the numbers of tokens and of operations.
    """
    import torch

    rank = job.rank
    figures = SharedFigures(rank)

    class RankedTrainer(base):
        """One of the ranks of `job`."""

        data_collator: Collate
        current_flos: float

        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)
            self.data_collator = with_blanks(self.data_collator, lambda: training_row(self, 0))
            ignore_frozen(self.model)
            self.own_input_tokens = 0
            # Of the metrics that are logged next.
            self.means: dict[str, float] = {}

        def _get_dataloader(self, *args: object, **kwargs: object) -> DataLoader[dict[str, Tensor]]:
            loader = super()._get_dataloader(*args, **kwargs)
            return loader if rank.world == 1 else share_batches(loader)

        def get_batch_samples(
            self, *args: object, **kwargs: object
        ) -> tuple[list[dict[str, Tensor]], Tensor]:
            batches, _ = super().get_batch_samples(*args, **kwargs)
            counted = [batch for batch in batches if not isinstance(batch, Blank)]
            count = self._get_num_items_in_batch(counted, self.args.device) if counted else 0
            return batches, torch.tensor(rank.total(count), device=self.args.device)

        def compute_loss(
            self,
            model: PreTrainedModel,
            inputs: dict[str, Tensor],
            return_outputs: bool = False,
            num_items_in_batch: Tensor | int | None = None,
        ) -> Tensor | tuple[Tensor, object]:
            blank, trains = isinstance(inputs, Blank), model.training
            with _alone(self.accelerator), _uncounted(self) if blank else _as_it_is():
                given = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
            # DDP averages the gradients; their sum is wanted.
            factor = (0 if blank else rank.world) if trains and num_items_in_batch is not None else 1
            return (given[0] * factor, given[1]) if return_outputs else given * factor

        def _track_num_input_tokens(self, inputs: dict[str, Tensor]) -> None:
            if isinstance(inputs, Blank) and "attention_mask" in inputs:
                inputs = {**inputs, "attention_mask": inputs["attention_mask"] * 0}
            before = self.state.num_input_tokens_seen
            with _alone(self.accelerator):
                super()._track_num_input_tokens(inputs)
            self.own_input_tokens += self.state.num_input_tokens_seen - before
            self.state.num_input_tokens_seen = before

        def share_step(self, decided: int) -> int:
            """Puts together what the ranks count in a step; returns what rank 0 `decided`."""
            loss = self._tr_loss
            own = [decided, loss.item(), self.current_flos, self.own_input_tokens, _tokens(self)]
            told, self.means = figures.share(own, getattr(self, "_metrics", {}).get("train", {}))
            decisions, losses, operations, input_tokens, tokens = zip(*told, strict=True)
            loss.copy_(loss.new_tensor(losses).mean())
            self.state.total_flos += sum(operations)
            self.state.num_input_tokens_seen += int(sum(input_tokens))
            self.current_flos = self.own_input_tokens = 0
            if "num_tokens" in self.means:
                self.means["num_tokens"] = int(sum(tokens))
            return int(decisions[0])

        def store_flos(self) -> None:
            """Nothing: `share_step` has added them."""

        def _maybe_log_save_evaluate(self, *args: object, **kwargs: object) -> None:
            with _gathered():
                super()._maybe_log_save_evaluate(*args, **kwargs)

        def log(self, *args: object, **kwargs: object) -> None:
            # TRL's trainers keep the values of every micro-batch and log their mean.
            if hasattr(self, "_metrics"):
                mode = "train" if self.model.training else "eval"
                if mode == "eval":
                    told, self.means = figures.share([_tokens(self)], self._metrics[mode])
                    if "num_tokens" in self.means:
                        self.means["num_tokens"] = int(sum(tokens for (tokens,) in told))
                self._metrics[mode].clear()
                self._metrics[mode].update({name: [value] for name, value in self.means.items()})
                self.means = {}
            super().log(*args, **kwargs)

        def random_state(self) -> bytes:
            """This rank's random state, as the library stores it."""
            # Where nothing stays of a rank that is killed.
            shared = job.folder / FOLDER
            shared.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=shared) as folder:
                self._save_rng_state(folder)
                return next(Path(folder).iterdir()).read_bytes()

    return RankedTrainer


@contextmanager
def _alone(accelerator: Accelerator) -> Iterator[None]:
    """Gathers the values of this rank alone: the batches of the ranks differ in size, and the memory probe of
    a rank may end before the others'."""
    names = ("gather", "gather_for_metrics")
    for name in names:
        setattr(accelerator, name, lambda value, *args, **kwargs: value)
    try:
        yield
    finally:
        for name in names:
            delattr(accelerator, name)


@contextmanager
def _gathered() -> Iterator[None]:
    """Keeps the library from gathering a loss that is that of all ranks."""
    gather = library.nested_gather
    library.nested_gather = lambda value, *args: value
    try:
        yield
    finally:
        library.nested_gather = gather


def _tokens(trainer: Trainer) -> int:
    """The tokens that TRL has counted at this rank."""
    return getattr(trainer, "_total_train_tokens", 0)


@contextmanager
def _uncounted(trainer: Trainer) -> Iterator[None]:
    """Forgets the metrics of what is computed meanwhile."""
    names = ("_metrics", "_total_train_tokens")
    kept = {name: getattr(trainer, name) for name in names if hasattr(trainer, name)}
    if "_metrics" in kept:
        trainer._metrics = {mode: defaultdict(list) for mode in kept["_metrics"]}
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(trainer, name, value)


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield
