"""Padded rows of which only the logits of the learned tokens are computed.

Whether a model's loss stays the same is tested on a few of the job's rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.kernels.allowed import why_not
from trainer.kernels.logits import body_of
from trainer.kernels.loss import labelled_loss, log_probabilities
from trainer.libraries.peft import without_adapter
from trainer.padding_free.trial import is_alike, log_probabilities_of, why_different

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.model.hardware import Hardware

IGNORED = -100

# The loss of the labels (tokens) after hidden states (tokens, size) of a model without its adapter's wrapper,
# divided by a count, and figures: how many labels are the correct tokens, and perhaps more. It gets the
# inputs that the states are of, too.
OfStates = Callable[..., "tuple[Tensor, ...]"]

# Rows of a trial, and most tokens of each.
TRIED_ROWS = 3
TRIED_TOKENS = 48


def why_not_labelled(model: PreTrainedModel, rows: Dataset, hardware: Hardware) -> str | None:
    """Why `padded_loss` is not the loss of `model`, which has its LoRA, on the first of `rows` (with
    `input_ids`), with its layers as they are now; None where it is."""
    import torch

    off = why_not("logits of learned tokens", hardware.device)
    if off is not None:
        return off
    inner = without_adapter(model)
    if getattr(inner.config.get_text_config(), "output_router_logits", False):
        return "the model has a loss for the choice of experts"
    taken = tried_rows(rows)
    batch = {name: value.to(model.device) for name, value in padded(taken).items()}

    def usual() -> Tensor:
        output = inner(**batch, use_cache=False)
        return torch.cat([log_probabilities_of(output.logits, taken), output.loss.float()[None]])

    def ours() -> Tensor:
        found = []
        states = _states(inner, batch)
        for row, of_row in zip(taken, states, strict=True):
            labels = torch.tensor(row[1:], device=states.device)
            found.append(log_probabilities(inner, of_row[: len(labels)], labels, figures=False)[0])
        return torch.cat([*found, padded_loss(inner, batch, None)[0][None]])

    return why_different(lambda: is_alike(model, hardware, usual, ours), "for learned tokens alone")


def why_not_packed(model: PreTrainedModel, rows: Dataset, hardware: Hardware) -> str | None:
    """Why `model` does not compute rows apart that are laid end to end, each with positions of its own, as
    those that are packed; None where each of the first of `rows` is as it is alone. Layers that carry a state
    from token to token take it into the next row."""

    inner = without_adapter(model)
    taken = tried_rows(rows)
    batch = {name: value.to(model.device) for name, value in padded(taken).items()}
    flat = {name: value.to(model.device) for name, value in concatenated(taken).items()}
    learned = (flat["position_ids"][0] > 0).nonzero()[:, 0]

    def ours() -> Tensor:
        output = inner(input_ids=flat["input_ids"], position_ids=flat["position_ids"], use_cache=False)
        every = output.logits[0].float().log_softmax(-1)
        return every[learned - 1, flat["input_ids"][0, learned]]

    def usual() -> Tensor:
        return log_probabilities_of(inner(**batch, use_cache=False).logits, taken)

    return why_different(lambda: is_alike(model, hardware, usual, ours), "with packed rows")


def labels_only(
    inner: PreTrainedModel,
    hidden: Tensor,
    labels: Tensor,
    count: Tensor | int,
    inputs: dict[str, Tensor],
) -> tuple[Tensor, ...]:
    """`labelled_loss`, which needs nothing of the `inputs`."""
    return labelled_loss(inner, hidden, labels, count)


def padded_loss(
    inner: PreTrainedModel,
    inputs: dict[str, Tensor],
    count: Tensor | int | None,
    of_states: OfStates = labels_only,
) -> tuple[Tensor, ...]:
    """The loss of `inner`, a model with an output layer, on padded rows: `input_ids`, `labels` and what else
    its forward pass takes, each (rows, tokens).

    It is the sum over the labelled tokens divided by `count`, or by their number if that is None. Returns it
    with the number of labelled tokens and the figures of `of_states`: how many were predicted correctly, and
    perhaps more.
    """
    import torch

    # A token predicts the next one.
    labels = inputs["labels"]
    if "position_ids" in inputs:
        # Of packed rows: the first token of each is predicted by none.
        labels = labels.masked_fill(inputs["position_ids"] == 0, IGNORED)
    labels = torch.nn.functional.pad(labels[:, 1:], (0, 1), value=IGNORED)
    chosen = labels != IGNORED
    hidden = _states(inner, inputs)[chosen]
    number = chosen.sum()
    count = number.clamp(min=1) if count is None else count
    loss, *figures = of_states(inner, hidden, labels[chosen], count, inputs)
    return loss, number, *figures


def _states(inner: PreTrainedModel, inputs: dict[str, Tensor]) -> Tensor:
    """The last hidden states (rows, tokens, size) of `inner`."""
    given = {name: value for name, value in inputs.items() if name != "labels"}
    return body_of(inner)(**given, use_cache=False).last_hidden_state


def tried_rows(rows: Dataset) -> list[list[int]]:
    """The beginnings of the first of `rows`: of different lengths, which reveal a row that sees another."""
    taken = [rows[index]["input_ids"] for index in range(min(TRIED_ROWS, len(rows)))]
    return [ids[: max(2, TRIED_TOKENS - 7 * index)] for index, ids in enumerate(taken)]


def padded(rows: list[list[int]]) -> dict[str, Tensor]:
    """`rows` as a padded batch in which the second half of each is learned."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([row + [row[-1]] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    labels = torch.tensor([second_half(row) + [IGNORED] * (width - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def concatenated(rows: list[list[int]]) -> dict[str, Tensor]:
    """`rows` as one concatenated sequence in which the second half of each is learned."""
    import torch

    ids = torch.tensor([[token for row in rows for token in row]])
    positions = torch.tensor([[position for row in rows for position in range(len(row))]])
    labels = torch.tensor([[label for row in rows for label in second_half(row)]])
    return {"input_ids": ids, "position_ids": positions, "labels": labels}


def second_half(row: list[int]) -> list[int]:
    """The labels of a row whose first half is not learned."""
    half = len(row) // 2
    return [IGNORED] * half + row[half:]
