"""Measures how much each input column of a model's linear layers matters: the mean of its squares over tokens
of the rows that the model was trained on.

Where x is the input of a layer with the weights W and E the error of these, the square of the error of an
output is about Σ E² · mean(x²), so llama.cpp weights the errors of a column by that mean when it chooses
scales (its tools/imatrix/README.md, and `quant_weights` in ggml/src/ggml-quants.c).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Linear, Module
    from transformers import PreTrainedModel

# Most tokens of a row, and of all together.
LONGEST = 512
TOKENS = 4096
# Tokens that are computed at a time.
BATCH = 1024


@dataclass(frozen=True)
class Record:
    """The mean squares of each layer's input columns, by the name of its weight in the loaded model, and of
    how many tokens they are."""

    means: dict[str, Tensor]
    tokens: int


def measure(
    model: PreTrainedModel, rows: Sequence[list[int]], on_progress: Callable[[int, int], None]
) -> Record:
    """The record of `model`, with its adapter if it has one, over `rows` of token ids, cut to the limits
    above. The output layer is left out, as llama.cpp's own tool does. `on_progress(done, total)` is called
    after each part of the work."""
    import torch

    from trainer.export.verification.float32 import in_float32

    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = {}

    def watch(name: str, module: Linear) -> Callable[[Module, tuple[Tensor, ...]], None]:
        def add(_: Module, given: tuple[Tensor, ...]) -> None:
            values = given[0].detach().reshape(-1, module.in_features)
            squares = values.double().square().sum(0)
            sums[name] = sums[name] + squares if name in sums else squares
            counts[name] = counts.get(name, 0) + len(values)

        return add

    parts = list(_parts(rows))
    hooks = [layer.register_forward_pre_hook(watch(name, layer)) for name, layer in _layers(model)]
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), in_float32(model):
            for done, part in enumerate(parts):
                for tokens in part:
                    model(input_ids=torch.tensor([tokens], device=model.device), use_cache=False)
                on_progress(done + 1, len(parts))
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    means = {name: (total / counts[name]).float().cpu() for name, total in sums.items()}
    return Record(means, sum(len(tokens) for part in parts for tokens in part))


def write(record: Record, out: Path) -> None:
    """Writes `out` (safetensors)."""
    from safetensors.torch import save_file

    save_file(record.means, out, metadata={"tokens": str(record.tokens)})


def read(path: Path) -> Record:
    """What `write` wrote; Failure `internal` where it is damaged."""
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            means = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            tokens = int((file.metadata() or {})["tokens"])
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    for name, values in means.items():
        right = values.dtype == torch.float32 and values.ndim == 1 and len(values) > 0
        if not right or not bool((values.isfinite() & (values >= 0)).all()):
            raise _damaged(path, f"{name} has numbers that are no means of squares")
    return Record(means, tokens)


def _damaged(path: Path, why: str) -> Failure:
    message = f"{path.name} in the model's folder is damaged: {why}."
    return Failure("internal", message, "Restore it from a backup, or remove it to quantize without it.")


def _layers(model: PreTrainedModel) -> Iterator[tuple[str, Linear]]:
    """The linear layers, without the output layer and those that an adapter consists of, by the names of
    their weights in the model without an adapter."""
    import torch
    from peft.tuners.tuners_utils import BaseTunerLayer

    adapters: set[int] = set()
    for module in model.modules():
        if isinstance(module, BaseTunerLayer):
            own = {id(each) for each in module.modules()} - {
                id(each) for each in module.get_base_layer().modules()
            }
            adapters |= own
    outputs = model.get_output_embeddings()
    left_out = {id(each) for each in outputs.modules()} if outputs is not None else set()
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and id(module) not in adapters | left_out:
            yield f"{name.removeprefix('base_model.model.').replace('.base_layer', '')}.weight", module


def _parts(rows: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """The rows within the limits, at least BATCH tokens together but for the last."""
    left, part, size = TOKENS, [], 0
    for row in rows:
        tokens = row[: min(LONGEST, left)]
        if not tokens:
            continue
        part.append(tokens)
        size, left = size + len(tokens), left - len(tokens)
        if size >= BATCH:
            yield part
            part, size = [], 0
    if part:
        yield part
