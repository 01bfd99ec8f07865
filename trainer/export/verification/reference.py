"""A record of the trained model's predictions in float32, to compare GGUF files with in a later process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data.encode import IGNORED

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.export.merge.adapter import Value

# Log-probabilities per position: the top ones with the adapter, and as many without.
TOP = 64
# Vocabularies up to this size are recorded completely.
SMALL_VOCABULARY = 1024
# Tokens of a sequence that are read.
LONGEST = 512
# Positions of all sequences together.
POSITIONS = 512
# What is computed at a time, so that it takes no more memory than a step did: tokens, and logits (256 MiB).
TOKENS = 1024
LOGITS = 1 << 26


@dataclass(frozen=True)
class Reference:
    """What follows `sequences[i]` behind the token number `positions[i][j]`: of each of the recorded tokens
    `ids[i][j]` the natural log-probability with (`adapter`) and without the adapter (`base`). The last of
    them is the token that does follow where `labelled`.

    `precision` is float32, or that of the record of an earlier release, which has one position for each
    sequence, the last, and no label; `quantized` means a 4-bit or 8-bit base.
    """

    sequences: list[list[int]]
    positions: list[list[int]]
    ids: list[list[list[int]]]
    adapter: list[list[list[float]]]
    base: list[list[list[float]]]
    labelled: bool
    precision: str
    quantized: bool

    @property
    def exact(self) -> bool:
        """Whether it is what the exported weights predict, and not a rounded model or one of a smaller
        base."""
        return self.precision == "float32" and not self.quantized

    def rows(self) -> Iterator[tuple[list[int], list[int] | None]]:
        """The rows that it was recorded of, for `record`."""
        for tokens, positions in zip(self.sequences, self.positions, strict=True):
            after = {at + 1 for at in positions}
            labels = [token if at in after else IGNORED for at, token in enumerate(tokens)]
            yield tokens, labels if self.labelled else None


EMPTY = Reference([], [], [], [], [], False, "float32", False)


def record(
    model: PreTrainedModel,
    rows: Sequence[tuple[list[int], list[int] | None]],
    out: Path,
    on_progress: Callable[[int, int], None],
) -> None:
    """Writes `out` (safetensors) with the predictions of `model` in `rows`: token ids and their labels, of
    which those that are learned are predicted; None for a prompt, behind which they are.

    `model` is a PEFT model, evaluated with and without its adapter. `on_progress(done, total)` is called
    after each part of the work.
    """
    import torch
    from safetensors.torch import save_file

    from trainer.export.verification.float32 import in_float32

    vocabulary = model.get_output_embeddings().weight.shape[0]
    chosen = choose(rows)
    if not chosen:
        return
    groups = list(in_groups(chosen, vocabulary))
    training = model.training
    model.eval()
    without = getattr(model, "disable_adapter", contextlib.nullcontext)
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    try:
        with torch.no_grad(), in_float32(model):
            for done, group in enumerate(groups):
                tuned = predictions(model, group)
                on_progress(2 * done + 1, 2 * len(groups))
                with without():
                    plain = predictions(model, group)
                found += [_recorded(*pair) for pair in zip(tuned, plain, following(group), strict=True)]
                on_progress(2 * done + 2, 2 * len(groups))
    finally:
        model.train(training)
    ids, adapter, base = (torch.cat(part) for part in zip(*found, strict=True))
    labelled = all(labels is not None for _, labels in rows)
    quantized = bool(getattr(getattr(model, "config", None), "quantization_config", None))
    ordered = [row for group in groups for row in group]
    save_file(
        {
            "tokens": torch.tensor([token for tokens, _ in ordered for token in tokens], dtype=torch.int32),
            "lengths": torch.tensor([len(tokens) for tokens, _ in ordered], dtype=torch.int32),
            "positions": torch.tensor(
                [at for _, positions in ordered for at in positions], dtype=torch.int32
            ),
            "counts": torch.tensor([len(positions) for _, positions in ordered], dtype=torch.int32),
            "ids": ids.to(torch.int32),
            "adapter": adapter.float(),
            "base": base.float(),
        },
        out,
        metadata={
            "precision": "float32",
            "quantized": str(int(quantized)),
            "labelled": str(int(labelled)),
        },
    )


def read(path: Path) -> Reference:
    """The record that `record` wrote, or that of an earlier release."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
        names = set(file.keys())
        sequences = _split(file.get_tensor("tokens").tolist(), file.get_tensor("lengths").tolist())
        if "positions" in names:
            counts = file.get_tensor("counts").tolist()
            positions = _split(file.get_tensor("positions").tolist(), counts)
        else:
            counts, positions = [1] * len(sequences), [[len(tokens) - 1] for tokens in sequences]
        ids, adapter, base = (
            _split(file.get_tensor(name).tolist(), counts) for name in ("ids", "adapter", "base")
        )
        return Reference(
            sequences=sequences,
            positions=positions,
            ids=ids,
            adapter=adapter,
            base=base,
            labelled=metadata.get("labelled") == "1",
            precision=metadata.get("precision", "float32"),
            quantized=metadata.get("quantized") == "1",
        )


def _split(values: list[Value], counts: list[int]) -> list[list[Value]]:
    """`values` in lists of these lengths."""
    found, start = [], 0
    for count in counts:
        found.append(values[start : start + count])
        start += count
    return found


def choose(rows: Sequence[tuple[list[int], list[int] | None]]) -> list[tuple[list[int], list[int]]]:
    """The sequences, cut to LONGEST, each with the positions that are recorded, evenly spread."""
    rows = [(tokens[:LONGEST], labels and labels[:LONGEST]) for tokens, labels in rows if tokens]
    found = []
    for tokens, labels in rows:
        if labels is None:
            positions = list(range(len(tokens) // 2, len(tokens)))
        else:
            positions = [at - 1 for at in range(1, len(labels)) if labels[at] != IGNORED]
        count = max(1, POSITIONS // len(rows))
        # The first is behind the prompt, as in a chat; of a prompt the last is.
        step = max(1.0, len(positions) / count)
        spread = [positions[int(at * step)] for at in range(min(count, len(positions)))]
        if labels is None and spread:
            spread[-1] = len(tokens) - 1
        if spread:
            found.append((tokens[: spread[-1] + 2], spread))
    return found


def in_groups(
    rows: list[tuple[list[int], list[int]]], vocabulary: int, logits: int = LOGITS
) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Rows of similar length whose padded batch has at most TOKENS tokens and `logits` logits, or one row."""
    most = min(TOKENS, logits // vocabulary)
    group: list[tuple[list[int], list[int]]] = []
    for row in sorted(rows, key=lambda row: len(row[0])):
        if group and (len(group) + 1) * len(row[0]) > most:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def predictions(model: PreTrainedModel, group: list[tuple[list[int], list[int]]]) -> list[Tensor]:
    """For each row the log-probabilities (positions, vocabulary) behind its positions, in double precision on
    the CPU.

    The rows are filled up at their ends. A causal model does not look there, so nothing is masked.
    """
    import torch

    longest = max(len(tokens) for tokens, _ in group)
    batch = torch.tensor([tokens + [tokens[-1]] * (longest - len(tokens)) for tokens, _ in group])
    batch = batch.to(model.device)
    logits = model(input_ids=batch, attention_mask=torch.ones_like(batch), use_cache=False).logits
    return [
        torch.log_softmax(logits[row, positions].to("cpu", torch.float64), -1)
        for row, (_, positions) in enumerate(group)
    ]


def following(group: list[tuple[list[int], list[int]]]) -> Iterator[Tensor]:
    """For each row the tokens behind its positions; behind its end, its last one."""
    import torch

    for tokens, positions in group:
        yield torch.tensor([tokens[min(at + 1, len(tokens) - 1)] for at in positions])


def _recorded(tuned: Tensor, plain: Tensor, following: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The tokens that are recorded at each position of a row, and their log-probabilities."""
    import torch

    if tuned.shape[-1] <= SMALL_VOCABULARY:
        ids = torch.arange(tuned.shape[-1]).expand(len(tuned), -1)
    else:
        ids = torch.cat([tuned.topk(TOP).indices, plain.topk(TOP).indices], -1)
    ids = torch.cat([ids, following[:, None]], -1)
    return ids, tuned.gather(-1, ids), plain.gather(-1, ids)
