"""The adapter that a training goes on from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedModel


def load_start(model: PreTrainedModel, path: Path) -> None:
    """Gives the new adapter of `model` the weights in the file at `path`, which were saved with an adapter of
    the same shape. Draws no random numbers. Failure unless every weight of the adapter is there and fits."""
    from peft import get_peft_model_state_dict, set_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        raise Failure(
            "bad_model",
            f"The adapter that this training goes on from cannot be read ({path}).",
            "Start the training again.",
            str(error)[:2000],
        ) from error
    wanted = get_peft_model_state_dict(model, save_embedding_layers=False)
    other = sorted(
        name
        for name in wanted.keys() | found.keys()
        if name not in wanted or name not in found or wanted[name].shape != found[name].shape
    )
    if other:
        raise Failure(
            "unsupported",
            f"The adapter of the model that this training goes on from is for other layers: {other[0]}"
            + (f" and {len(other) - 1} more differ." if len(other) > 1 else " differs."),
            "Choose another lora_r, so that it is merged into its base first.",
        )
    set_peft_model_state_dict(model, found)


@contextmanager
def without_start(model: PreTrainedModel, goes_on: bool) -> Iterator[None]:
    """Within it, `model` computes as its base does; a new adapter changes nothing anyway."""
    if not goes_on:
        yield
        return
    with model.disable_adapter():
        yield
