"""A trainer class is its parts in the order in which they act, and then the library's."""

from typing import Any

from trainer.training.parts.part import Batch, Loss, Part, trainer_class
from trainer.training.parts.per_item import PerItem


class Library:
    """What is used of a trainer of the library: a loss of 8, with outputs where they are wanted."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, items: Any = None) -> Any:
        self.seen.append((dict(inputs), items))
        return (8.0, "outputs") if return_outputs else 8.0

    def _get_num_items_in_batch(self, batches: Any, device: Any) -> Any:
        return "the library's"

    def _evaluate(self, *args: Any, **kwargs: Any) -> Any:
        return {"args": len(args)}


class Adds(Part):
    by = 0.0

    def loss_of(self, batch: Batch) -> Loss:
        loss, outputs = super().loss_of(batch)
        return loss + self.by, outputs


class Halves(Part):
    def loss_of(self, batch: Batch) -> Loss:
        loss, outputs = super().loss_of(batch)
        return loss / 2, outputs


def test_parts_act_in_their_order() -> None:
    assert trainer_class(Library, Adds.of(by=2.0), Halves)().compute_loss(None, {}) == 6.0
    assert trainer_class(Library, Halves, Adds.of(by=2.0))().compute_loss(None, {}) == 5.0
    assert Adds.by == 0.0


def test_outputs_are_given_where_they_are_wanted() -> None:
    trainer = trainer_class(Library, Halves)()
    assert trainer.compute_loss(None, {}, return_outputs=True) == (4.0, "outputs")
    assert trainer.compute_loss(None, {"a": 1}, num_items_in_batch=3) == 4.0
    assert trainer.seen[-1] == ({"a": 1}, 3)


def test_a_step_that_no_part_changes_is_the_library_s() -> None:
    trainer = trainer_class(Library, Halves)()
    assert trainer._get_num_items_in_batch([], None) == "the library's"
    assert trainer._evaluate(1, 2) == {"args": 2}


def test_a_micro_batch_counts_by_its_share_of_the_step() -> None:
    trainer = trainer_class(Library, PerItem.of(count=len))()
    assert trainer.model_accepts_loss_kwargs
    assert trainer._get_num_items_in_batch([{"a": 1}, {"a": 1, "b": 2}], None) == 3
    assert trainer._get_num_items_in_batch([], None) is None
    # The library's loss is a mean, which it must not divide by the step's items.
    assert trainer.compute_loss(None, {"a": 1, "b": 2}, num_items_in_batch=3) == 8.0 * 2 / 3
    assert trainer.seen[-1] == ({"a": 1, "b": 2}, None)
    assert trainer.compute_loss(None, {"a": 1}) == 8.0
