"""The target modules of LoRA."""

from __future__ import annotations

from typing import Any

from trainer.protocol.failures import Failure

# Linear layers of torch, of GPT-2 and of bitsandbytes.
LINEAR = ("Linear", "Conv1D", "Linear4bit", "Linear8bitLt")


def linear_names(model: Any) -> list[str]:
    """The names (last part) of all linear layers of `model` but the output layer, sorted."""
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    return sorted(
        {
            name.rpartition(".")[2]
            for name, module in model.named_modules()
            if type(module).__name__ in LINEAR and module is not head
        }
    )


def check_targets(model: Any, wanted: list[str] | None) -> None:
    """Failure `unsupported` when `wanted` names modules that `model` does not have."""
    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    unknown = [name for name in wanted or [] if name.rpartition(".")[2] not in names]
    if unknown:
        raise Failure(
            "unsupported",
            f"This model has no modules called {', '.join(unknown)} (target_modules).",
            f"Leave it out for all linear layers, or choose from: {', '.join(linear_names(model))}.",
        )
