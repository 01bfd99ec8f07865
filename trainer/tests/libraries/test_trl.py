"""What TRL's trainers count is read and set back."""

from collections import defaultdict
from types import SimpleNamespace

from trainer.libraries.trl import (
    add_tokens,
    figures_of,
    forget_figures,
    tokens_of,
    within_forward,
    without_figures,
)


def counting():
    return SimpleNamespace(
        _metrics={"train": defaultdict(list), "eval": defaultdict(list)}, _total_train_tokens=5
    )


def test_figures_of_training_and_evaluation_are_apart():
    trainer = counting()
    figures_of(trainer, True)["loss"].append(1.0)
    assert figures_of(trainer, False) == {} and trainer._metrics["train"] == {"loss": [1.0]}
    add_tokens(trainer, 7)
    assert tokens_of(trainer) == 12


def test_what_is_computed_meanwhile_is_forgotten():
    trainer = counting()
    figures_of(trainer, True)["loss"].append(1.0)
    with without_figures(trainer):
        figures_of(trainer, True)["loss"].append(2.0)
        add_tokens(trainer, 7)
    assert figures_of(trainer, True) == {"loss": [1.0]} and tokens_of(trainer) == 5
    forget_figures(trainer)
    assert figures_of(trainer, True) == {} and tokens_of(trainer) == 0


def test_a_trainer_that_is_not_trl_s_counts_nothing():
    trainer = SimpleNamespace()
    assert figures_of(trainer, True) is None and tokens_of(trainer) == 0
    with without_figures(trainer):
        pass
    forget_figures(trainer)
    assert vars(trainer) == {}


def test_without_a_wrapper_a_function_is_called_as_it_is():
    model = object()
    assert within_forward(model, model, lambda *given: given, 1, 2) == (1, 2)
