"""Batches in parts of rows that are about as long, so that little padding is computed.

For models whose rows cannot be concatenated: the loss is the same, as the mean over the parts weighted by
what each counts. On a CPU only, where a smaller product of matrices is about as quick per token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.kernels.allowed import why_not

if TYPE_CHECKING:
    from torch import Tensor

# What another pass through a model costs, in tokens.
PASS_TOKENS = 32

# Tensors of a batch by the width that they have.
SOURCE = ("input_ids", "attention_mask", "token_type_ids")
TARGET = ("labels", "decoder_input_ids", "decoder_attention_mask")


def describe_layout(device: str) -> str:
    """How a run on `device` says how its rows are computed."""
    return "padded rows" if why_not("parts of a batch", device) else "rows in parts of similar length"


def parts_of(inputs: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    """`inputs`, a batch with padding behind its rows, in parts without most of it."""
    mask = inputs["attention_mask"]
    sources = mask.sum(1)
    # Padding before a row, or within it, cannot be cut off.
    if len(mask) == 1 or not bool((mask[:, 1:] <= mask[:, :-1]).all()):
        return [inputs]
    targets = sources.new_zeros(len(mask))
    labels = inputs.get("labels")
    if labels is not None:
        positions = (labels != -100).long() * (1 + sources.new_tensor(range(labels.shape[1])))
        targets = positions.max(1).values
    lengths = list(zip(sources.tolist(), targets.tolist(), strict=True))
    parts = []
    for rows in groups_of(lengths):
        widths = {name: max(lengths[row][0] for row in rows) for name in SOURCE}
        widths |= {name: max(lengths[row][1] for row in rows) for name in TARGET}
        chosen = sources.new_tensor(rows)
        parts.append(
            {
                name: value[chosen][:, : widths[name]].contiguous() if name in widths else value[chosen]
                for name, value in inputs.items()
            }
        )
    return parts


def groups_of(lengths: list[tuple[int, int]]) -> list[list[int]]:
    """The rows with these `lengths` of source and target in groups, for which passes and padded tokens
    together cost least; a group has rows that follow each other in the order of their lengths."""
    order = sorted(range(len(lengths)), key=lambda row: (-sum(lengths[row]), row))
    # The least cost of the first rows, and where their last group begins.
    least: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(order) + 1):
        source = target = 0
        best = (float("inf"), 0)
        for start in range(end - 1, -1, -1):
            source = max(source, lengths[order[start]][0])
            target = max(target, lengths[order[start]][1])
            cost = least[start][0] + PASS_TOKENS + (end - start) * (source + target)
            best = min(best, (cost, start))
        least.append(best)
    groups = []
    end = len(order)
    while end:
        start = least[end][1]
        groups.append(order[start:end])
        end = start
    return groups[::-1]
