"""A trainer class whose ranks together do what one process would do alone.

Imports accelerate; import it inside functions.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.engines.sibling import FOLDER
from trainer.training.probe import training_row
from trainer.training.shared_batches import Blank, share_batches, with_blanks
from trainer.training.shared_weights import ignore_frozen

if TYPE_CHECKING:
    from trainer.training.job import Job


def ranked_trainer(base: type, job: Job) -> type:
    """A subclass of `base`, a trainer class of the library, for several ranks.

    A step's loss is divided by the number of its items at all ranks. Nothing in `compute_loss` waits for the
    other ranks; the metrics that it counts are put together when they are logged.
    """
    import torch

    rank = job.rank

    class RankedTrainer(base):
        """One of the ranks of `job`."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.data_collator = with_blanks(self.data_collator, lambda: training_row(self, 0))
            ignore_frozen(self.model)

        def _get_dataloader(self, *args: Any, **kwargs: Any) -> Any:
            loader = super()._get_dataloader(*args, **kwargs)
            return loader if rank.world == 1 else share_batches(loader)

        def get_batch_samples(self, *args: Any, **kwargs: Any) -> tuple[list[Any], Any]:
            batches, _ = super().get_batch_samples(*args, **kwargs)
            counted = [batch for batch in batches if not isinstance(batch, Blank)]
            count = self._get_num_items_in_batch(counted, self.args.device) if counted else 0
            return batches, torch.tensor(rank.total(count), device=self.args.device)

        def compute_loss(
            self,
            model: Any,
            inputs: dict[str, Any],
            return_outputs: bool = False,
            num_items_in_batch: Any = None,
        ) -> Any:
            blank, trains = isinstance(inputs, Blank), model.training
            with _alone(self.accelerator), _uncounted(self) if blank else _as_it_is():
                given = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
            # DDP averages the gradients; their sum is wanted.
            factor = (0 if blank else rank.world) if trains and num_items_in_batch is not None else 1
            return (given[0] * factor, given[1]) if return_outputs else given * factor

        def _track_num_input_tokens(self, inputs: Any) -> None:
            if isinstance(inputs, Blank) and "attention_mask" in inputs:
                inputs = {**inputs, "attention_mask": inputs["attention_mask"] * 0}
            super()._track_num_input_tokens(inputs)

        def log(self, *args: Any, **kwargs: Any) -> None:
            # TRL's trainers keep the values of every micro-batch and log their mean.
            if hasattr(self, "_metrics"):
                tokens = rank.total(self._total_train_tokens)
                counted = rank.gather({mode: dict(named) for mode, named in self._metrics.items()})
                for mode, named in self._metrics.items():
                    for name in named:
                        named[name] = [value for metrics in counted for value in metrics[mode].get(name, [])]
                    if "num_tokens" in named:
                        named["num_tokens"] = [tokens]
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
def _alone(accelerator: Any) -> Iterator[None]:
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
def _uncounted(trainer: Any) -> Iterator[None]:
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
