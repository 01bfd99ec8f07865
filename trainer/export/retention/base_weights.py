"""The base model beside one all of whose weights were trained, to compare both."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trainer.model.hardware import choose
from trainer.protocol.failures import explain

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from trainer.data.job import Job


@contextmanager
def base_beside(job: Job, model: PreTrainedModel) -> Iterator[None]:
    """Within it, `model.disable_adapter()` makes `model` compute as the base model of `job`, also where it
    has no adapter: its base is then loaded from its files. Where that fails, there is a warning."""
    if hasattr(model, "disable_adapter"):
        yield
        return
    try:
        # The optimizer of the training is part of cycles.
        gc.collect()
        base = job.provider.base(job, choose(job.settings, job.config), "AutoModelForCausalLM")
        base.to(model.device)
        model.disable_adapter = lambda: _exchanged(model, base)
    except Exception as error:
        traceback.print_exc()
        job.warn(
            "no_retention", f"The base model could not be loaded for a comparison: {explain(error).message}"
        )
    try:
        yield
    finally:
        vars(model).pop("disable_adapter", None)


@contextmanager
def _exchanged(model: PreTrainedModel, base: PreTrainedModel) -> Iterator[None]:
    """Within it, `model` has the weights of `base`."""
    _exchange(model, base)
    try:
        yield
    finally:
        _exchange(model, base)


def _exchange(model: PreTrainedModel, base: PreTrainedModel) -> None:
    for own, other in zip(model.parameters(), base.parameters(), strict=True):
        own.data, other.data = other.data, own.data
