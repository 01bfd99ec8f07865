"""Which layers of a model LoRA goes on."""

from __future__ import annotations

from typing import Any

from trainer.failures import Failure

# Classes whose weight is a matrix: torch's, GPT-2's, and those of bitsandbytes.
LINEAR = ("Linear", "Conv1D", "Linear4bit", "Linear8bitLt")


def linear_names(model: Any) -> list[str]:
    """The last parts of the names of all linear layers of `model`, its output layer left out, sorted."""
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    return sorted(
        {
            name.rpartition(".")[2]
            for name, module in model.named_modules()
            if type(module).__name__ in LINEAR and module is not head
        }
    )


def check_targets(model: Any, wanted: list[str] | None) -> None:
    """Failure `unsupported` when `wanted` names what `model` has not."""
    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    unknown = [name for name in wanted or [] if name.rpartition(".")[2] not in names]
    if unknown:
        raise Failure(
            "unsupported",
            f"target_modules names what this model has not: {', '.join(unknown)}.",
            f"Leave it out for all linear layers, or choose from: {', '.join(linear_names(model))}.",
        )
