"""Preference pairs without padding: a prompt with both of its answers is one row, and the prompt is computed
once.

The pairs of every step, their log-probabilities and their loss stay the same. Whether this holds for a model
is tested on a few of the job's pairs, as for other rows.
"""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING, Any

from trainer.kernels.allowed import why_not
from trainer.kernels.install import install, install_linear
from trainer.kernels.loss import log_probabilities
from trainer.libraries.peft import without_adapter
from trainer.padding_free.padding_free import row_states, why_padded
from trainer.padding_free.shared_rows import SharedRows
from trainer.padding_free.trial import is_alike, log_probabilities_of, why_different

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.model.hardware import Hardware

ANSWERS = ("chosen_ids", "rejected_ids")
# Pairs of that test, and the most tokens of a prompt and of an answer.
TRIED_PAIRS = 8
TRIED_TOKENS = 32


def collate(pairs: list[dict[str, list[int]]], answers: tuple[str, ...] = ANSWERS) -> dict[str, Any]:
    """A batch of `pairs` (`prompt_ids`, and those of `answers`): each prompt with its answers, one
    concatenated sequence.

    `lengths` (pairs, 1 + answers) has the tokens of these; `labels` the tokens of all answers in their order
    and `positions` where in the sequence each is predicted: the first of each answer by the last of the
    prompt. The first token of all is predicted by none and has no label. `keys` are numbers that tell pairs
    apart.
    """
    import torch

    laid = SharedRows()
    labels: list[int] = []
    positions: list[int] = []
    for pair in pairs:
        prompt = pair["prompt_ids"]
        for at, name in enumerate(answers):
            row = [*prompt, *pair[name]]
            laid.add(row, len(prompt) if at else 0)
            learned = range(max(1, len(prompt)), len(row))
            positions += laid.predictions(len(laid.starts) - 1, learned)
            labels += row[learned.start :]
    return {
        # First: the library counts the rows of the first tensor.
        "lengths": torch.tensor([[len(pair[name]) for name in ("prompt_ids", *answers)] for pair in pairs]),
        **laid.tensors(),
        "labels": torch.tensor(labels, dtype=torch.long),
        "positions": torch.tensor(positions, dtype=torch.long),
        "keys": [key_of(pair, answers) for pair in pairs],
    }


def key_of(pair: dict[str, list[int]], answers: tuple[str, ...] = ANSWERS) -> int:
    """A number of 64 bits, the same for equal pairs."""
    digest = hashlib.blake2b(digest_size=8)
    for name in ("prompt_ids", *answers):
        digest.update(array("q", [len(pair[name]), *pair[name]]).tobytes())
    return int.from_bytes(digest.digest(), "little", signed=True)


def answer_log_probabilities(
    inner: PreTrainedModel, inputs: dict[str, Tensor], figures: bool = True
) -> tuple[Tensor, Tensor | None, list[int]]:
    """The log-probability of each answer (pairs, answers) by the model `inner` for a batch of `collate`; of
    each label what `log_probabilities` tells with `figures`; and the labels of each answer."""
    import torch

    counts = [
        max(0, length - (prompt == 0))
        for prompt, *answers in inputs["lengths"].tolist()
        for length in answers
    ]
    found, statistics = _label_log_probabilities(inner, inputs, figures)
    sums = torch.stack([part.sum() for part in found.split(counts)])
    return sums.view(len(inputs["lengths"]), -1), statistics, counts


def _label_log_probabilities(
    inner: PreTrainedModel, inputs: dict[str, Tensor], figures: bool
) -> tuple[Tensor, Tensor | None]:
    """The log-probability of each label of a batch of `collate`, and its statistics with `figures`."""
    row_lengths, shared = [], []
    for prompt, first, *others in inputs["lengths"].tolist():
        row_lengths += [prompt + first, *others]
        shared += [0, *[prompt] * len(others)]
    states = row_states(inner, inputs, inputs["positions"], row_lengths=row_lengths, shared=shared)
    return log_probabilities(inner, states, inputs["labels"], figures)


def fuse_layers_for_pairs(model: PreTrainedModel, pairs: Dataset, hardware: Hardware) -> None:
    """Replaces the layers of `model`, which has its LoRA, by ours if the tokens of both answers of the first
    of `pairs` stay as likely; otherwise only its single linear layers."""
    if why_not("fused layers", hardware.device) is not None:
        return
    taken, inner = _tried(pairs), without_adapter(model)

    def padded() -> Tensor:
        return _padded_log_probabilities(inner, taken)

    install(model, hardware.device)
    if why_different(lambda: is_alike(model, hardware, padded, padded), "with fused layers") is not None:
        install_linear(model, hardware.device)


def _tried(pairs: Dataset) -> list[dict[str, list[int]]]:
    """The end of the prompts and the beginning of the answers of the first of `pairs`. Different lengths
    reveal what is mixed up."""
    return [
        {
            "prompt_ids": pair["prompt_ids"][-max(2, TRIED_TOKENS - 3 * index) :],
            "chosen_ids": pair["chosen_ids"][:TRIED_TOKENS],
            "rejected_ids": pair["rejected_ids"][: max(2, TRIED_TOKENS - 2 * index)],
        }
        for index, pair in enumerate(pairs.select(range(min(TRIED_PAIRS, len(pairs)))))
    ]


def make_pairs_padding_free(model: PreTrainedModel, pairs: Dataset, hardware: Hardware) -> str | None:
    """Switches `model` to padding-free attention if the tokens of both answers of the first of `pairs` stay
    as likely; returns why it did not, or None."""
    taken = _tried(pairs)
    inner = without_adapter(model)
    batch = {
        name: value if name == "keys" else value.to(model.device) for name, value in collate(taken).items()
    }
    return why_padded(
        model,
        hardware,
        lambda: _padded_log_probabilities(inner, taken),
        lambda: _label_log_probabilities(inner, batch, figures=False)[0],
    )


def collate_padded(pairs: list[dict[str, list[int]]], answers: tuple[str, ...] = ANSWERS) -> dict[str, Any]:
    """`collate`, but a padded row for each answer."""
    import torch

    rows = [torch.tensor([*pair["prompt_ids"], *pair[name]]) for pair in pairs for name in answers]
    pad = torch.nn.utils.rnn.pad_sequence
    return {
        "lengths": torch.tensor([[len(pair[name]) for name in ("prompt_ids", *answers)] for pair in pairs]),
        "input_ids": pad(rows, batch_first=True),
        "attention_mask": pad([torch.ones_like(row) for row in rows], batch_first=True),
        "keys": [key_of(pair, answers) for pair in pairs],
    }


def padded_log_probabilities(
    inner: PreTrainedModel, inputs: dict[str, Any], figures: bool = False
) -> tuple[Tensor, None, list[int]]:
    """`answer_log_probabilities` for a batch of `collate_padded`, as the library computes them, without
    figures. A loss for the choice of experts becomes the `router_loss` of `inputs`."""
    import torch

    found, inputs["router_loss"] = _padded_answers(inner, inputs)
    sums = torch.stack([one.sum() for one in found])
    return sums.view(len(inputs["lengths"]), -1), None, [len(one) for one in found]


def _padded_answers(inner: PreTrainedModel, inputs: dict[str, Any]) -> tuple[list[Tensor], Tensor | None]:
    """The log-probabilities of the labels of each answer, and the loss for the choice of experts, if any."""
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    outputs = inner(input_ids=ids, attention_mask=mask, use_cache=False)
    rows = [row[:length].tolist() for row, length in zip(ids, mask.sum(1).tolist(), strict=True)]
    every = log_probabilities_of(outputs.logits, rows).split([len(row) - 1 for row in rows])
    prompts = inputs["lengths"][:, :1].expand(-1, len(rows) // len(inputs["lengths"])).flatten().tolist()
    found = [of_row[max(0, prompt - 1) :] for of_row, prompt in zip(every, prompts, strict=True)]
    return found, getattr(outputs, "aux_loss", None)


def _padded_log_probabilities(inner: PreTrainedModel, pairs: list[dict[str, list[int]]]) -> Tensor:
    """The log-probabilities of the labels of `collate`, computed as the library does."""
    import torch

    batch = collate_padded(pairs)
    on = {name: value if name == "keys" else value.to(inner.device) for name, value in batch.items()}
    return torch.cat(_padded_answers(inner, on)[0])
