"""A record of the trained model's predictions, to compare the GGUF with in a later process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Log-probabilities per sequence: the top ones with the adapter, and as many without.
TOP = 64
# Vocabularies up to this size are recorded completely.
SMALL_VOCABULARY = 1024


@dataclass(frozen=True)
class Reference:
    """`ids[i]` are the recorded next tokens after `sequences[i]`, `adapter` and `base` their natural
    log-probabilities with and without the adapter. `quantized` means a 4-bit or 8-bit base."""

    sequences: list[list[int]]
    ids: list[list[int]]
    adapter: list[list[float]]
    base: list[list[float]]
    precision: str
    quantized: bool


def record(
    model: Any, sequences: list[list[int]], out: Path, on_progress: Callable[[int, int], None]
) -> None:
    """Writes `out` (safetensors) with the next-token log-probabilities after each of `sequences`.

    `model` is a PEFT model, evaluated with and without its adapter. `on_progress(done, total)` is called
    after each sequence.
    """
    import torch
    from safetensors.torch import save_file

    sequences = [list(sequence) for sequence in sequences if len(sequence) > 0]
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    without = getattr(model, "disable_adapter", contextlib.nullcontext)
    ids, adapter, base = [], [], []
    try:
        with torch.inference_mode():
            for done, sequence in enumerate(sequences, 1):
                row = torch.tensor([sequence], device=device)
                mask = torch.ones_like(row)
                tuned = _last(model, row, mask)
                with without():
                    plain = _last(model, row, mask)
                if tuned.numel() <= SMALL_VOCABULARY:
                    chosen = torch.arange(tuned.numel())
                else:
                    chosen = torch.cat([tuned.topk(TOP).indices, plain.topk(TOP).indices])
                ids.append(chosen.to(torch.int32))
                adapter.append(tuned[chosen].float())
                base.append(plain[chosen].float())
                on_progress(done, len(sequences))
    finally:
        model.train(was_training)
    config = getattr(model, "config", None)
    quantized = bool(getattr(config, "quantization_config", None))
    if not sequences:
        return
    save_file(
        {
            "tokens": torch.tensor(
                [token for sequence in sequences for token in sequence], dtype=torch.int32
            ),
            "lengths": torch.tensor([len(sequence) for sequence in sequences], dtype=torch.int32),
            "ids": torch.stack(ids),
            "adapter": torch.stack(adapter),
            "base": torch.stack(base),
        },
        out,
        metadata={"precision": _precision(model), "quantized": str(int(quantized))},
    )


def read(path: Path) -> Reference:
    """The record that `record` wrote."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
        tokens = file.get_tensor("tokens").tolist()
        sequences, start = [], 0
        for length in file.get_tensor("lengths").tolist():
            sequences.append(tokens[start : start + length])
            start += length
        return Reference(
            sequences=sequences,
            ids=file.get_tensor("ids").tolist(),
            adapter=file.get_tensor("adapter").tolist(),
            base=file.get_tensor("base").tolist(),
            precision=metadata.get("precision", "float32"),
            quantized=metadata.get("quantized") == "1",
        )


def _last(model: Any, row: Any, mask: Any) -> Any:
    """Next-token log-probabilities after the last token, in double precision on the CPU."""
    import torch

    logits = model(input_ids=row, attention_mask=mask, use_cache=False).logits[0, -1]
    return torch.log_softmax(logits.detach().to("cpu", torch.float64), -1)


def _precision(model: Any) -> str:
    """The narrowest floating type of the weights, which limits the accuracy of the log-probabilities."""
    import torch

    kinds = {parameter.dtype for parameter in model.parameters() if parameter.is_floating_point()}
    for kind in (torch.bfloat16, torch.float16):
        if kind in kinds:
            return str(kind).removeprefix("torch.")
    return "float32"
