"""Log-probabilities and rewards of answers without padding, what they have in common computed once.

Whether a model computes the same in this way is tried on a few of the job's rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.kernels.install import install_linear
from trainer.kernels.loss import log_probabilities
from trainer.libraries.peft import without_adapter
from trainer.padding_free.padding_free import row_states, why_padded
from trainer.padding_free.shared_rows import grouped

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.model.hardware import Hardware

# Rows of that trial, and the most tokens of each.
TRIED_ROWS = 8
TRIED_TOKENS = 48


def token_log_probabilities(
    inner: PreTrainedModel,
    rows: list[list[int]],
    prompts: list[int],
    figures: bool,
    allowed: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The log-probability of every token behind the first `prompts[i]` (at least 1) of each of `rows` by the
    model `inner`, one after the other; and what `log_probabilities` tells of them with `figures`. It reads
    `allowed`, too."""
    import torch

    laid, numbers = grouped(rows)
    positions: list[int] = []
    labels: list[int] = []
    for row, number, prompt in zip(rows, numbers, prompts, strict=True):
        positions += laid.predictions(number, range(prompt, len(row)))
        labels += row[prompt:]
    at = torch.tensor(positions, dtype=torch.long, device=inner.device)
    parts = {"row_lengths": laid.row_lengths, "shared": laid.shared}
    states = row_states(inner, laid.tensors(inner.device), at, **parts)
    return log_probabilities(inner, states, torch.tensor(labels, device=states.device), figures, allowed)


def laid_out(rows: list[list[int]], pad: int | None) -> dict[str, Tensor]:
    """`rows` for `rewards_of`: one concatenated sequence (1, tokens) of `parts` (rows, 2), each of so many
    tokens of its own that continue so many of another's; and of each row the position that judges it."""
    import torch

    laid, at = grouped(rows)
    positions = [laid.position(number, _judged(row, pad)) for row, number in zip(rows, at, strict=True)]
    parts = list(zip(laid.row_lengths, laid.shared, strict=True))
    # First: the library counts the rows of the first tensor.
    return {"positions": torch.tensor(positions), "parts": torch.tensor(parts), **laid.tensors()}


def rewards_of(inner: PreTrainedModel, inputs: dict[str, Tensor]) -> Tensor:
    """The reward of each row of `laid_out` by `inner`, a causal model that classifies a sequence by its last
    token other than the one that fills up rows."""
    lengths, shared = inputs["parts"].t().tolist()
    states = row_states(inner, inputs, inputs["positions"], row_lengths=lengths, shared=shared)
    return inner.score(states)[:, 0]


def rewards(inner: PreTrainedModel, rows: list[list[int]], pad: int | None) -> Tensor:
    """The reward of each of `rows` by such a model; `pad` is the token that fills up rows."""
    inputs = {name: value.to(inner.device) for name, value in laid_out(rows, pad).items()}
    return rewards_of(inner, inputs)


def _judged(row: list[int], pad: int | None) -> int:
    """The token of a row that it is judged by: the library takes the last that is not `pad`, which may be
    what ends an answer, and otherwise the first."""
    return next((at for at in range(len(row) - 1, -1, -1) if row[at] != pad), 0)


def padded_rewards(model: PreTrainedModel, rows: list[list[int]], pad: int) -> Tensor:
    """The rewards of `rows` as the library computes them, with padding."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    device = next(model.parameters()).device
    return model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits[:, 0]


def make_rewards_padding_free(
    model: PreTrainedModel, rows: list[list[int]], pad: int, hardware: Hardware
) -> str | None:
    """Switches `model` to padding-free attention if the rewards of the first of `rows` stay the same; returns
    why it did not, or None. If not, the model has the library's layers again, except for single linear
    ones."""
    inner = without_adapter(model)
    if not hasattr(inner, "score"):
        install_linear(model, hardware.device)
        return "the reward model does not judge by its last token"
    taken = [row[: max(2, TRIED_TOKENS - 5 * at)] for at, row in enumerate(rows[:TRIED_ROWS])]
    why = why_padded(
        model,
        hardware,
        lambda: padded_rewards(model, taken, pad).float(),
        lambda: rewards(inner, taken, pad).float(),
    )
    if why is not None:
        install_linear(model, hardware.device)
    return why
