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
from trainer.padding_free.padding_free import row_states, why_padded
from trainer.padding_free.shared_rows import SharedRows
from trainer.padding_free.trial import is_alike, log_probabilities_of, why_different, without_adapter

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.model.hardware import Hardware

# Pairs of that test, and the most tokens of a prompt and of an answer.
TRIED_PAIRS = 8
TRIED_TOKENS = 32


def collate(pairs: list[dict[str, list[int]]]) -> dict[str, Any]:
    """A batch of `pairs` (`prompt_ids`, `chosen_ids`, `rejected_ids`): each prompt with its chosen and then
    its rejected answer, one concatenated sequence.

    `lengths` (pairs, 3) has the tokens of these three; `labels` the tokens of all answers in their order and
    `positions` where in the sequence each is predicted: the first of both answers by the last of the prompt.
    The first token of all is predicted by none and has no label. `keys` are numbers that tell pairs apart.
    """
    import torch

    laid = SharedRows()
    labels: list[int] = []
    positions: list[int] = []
    for pair in pairs:
        prompt = pair["prompt_ids"]
        for name, shared in (("chosen_ids", 0), ("rejected_ids", len(prompt))):
            row = [*prompt, *pair[name]]
            laid.add(row, shared)
            learned = range(max(1, len(prompt)), len(row))
            positions += laid.predictions(len(laid.starts) - 1, learned)
            labels += row[learned.start :]
    return {
        # First: the library counts the rows of the first tensor.
        "lengths": torch.tensor([[len(part) for part in _parts(pair)] for pair in pairs]),
        **laid.tensors(),
        "labels": torch.tensor(labels, dtype=torch.long),
        "positions": torch.tensor(positions, dtype=torch.long),
        "keys": [key_of(pair) for pair in pairs],
    }


def key_of(pair: dict[str, list[int]]) -> int:
    """A number of 64 bits, the same for equal pairs."""
    digest = hashlib.blake2b(digest_size=8)
    for part in _parts(pair):
        digest.update(array("q", [len(part), *part]).tobytes())
    return int.from_bytes(digest.digest(), "little", signed=True)


def _parts(pair: dict[str, list[int]]) -> tuple[list[int], list[int], list[int]]:
    return pair["prompt_ids"], pair["chosen_ids"], pair["rejected_ids"]


def answer_log_probabilities(
    inner: PreTrainedModel, inputs: dict[str, Tensor], figures: bool = True
) -> tuple[Tensor, Tensor | None, list[int]]:
    """The log-probability of each answer (pairs, 2), chosen first, by the model `inner` for a batch of
    `collate`; of each label what `log_probabilities` tells with `figures`; and the labels of each answer."""
    import torch

    counts = [
        max(0, length - (prompt == 0))
        for prompt, *answers in inputs["lengths"].tolist()
        for length in answers
    ]
    found, statistics = _label_log_probabilities(inner, inputs, figures)
    sums = torch.stack([part.sum() for part in found.split(counts)])
    return sums.view(-1, 2), statistics, counts


def _label_log_probabilities(
    inner: PreTrainedModel, inputs: dict[str, Tensor], figures: bool
) -> tuple[Tensor, Tensor | None]:
    """The log-probability of each label of a batch of `collate`, and its statistics with `figures`."""
    row_lengths, shared = [], []
    for prompt, chosen, rejected in inputs["lengths"].tolist():
        row_lengths += [prompt + chosen, rejected]
        shared += [0, prompt]
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


def _padded_log_probabilities(inner: PreTrainedModel, pairs: list[dict[str, list[int]]]) -> Tensor:
    """The log-probabilities of the labels of `collate`, computed as the library does."""
    import torch

    prompts = [pair["prompt_ids"] for pair in pairs for _ in ("chosen", "rejected")]
    answers = [pair[name] for pair in pairs for name in ("chosen_ids", "rejected_ids")]
    rows = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
    width = max(map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=inner.device)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=inner.device)
    logits = inner(input_ids=ids, attention_mask=mask, use_cache=False).logits
    found = log_probabilities_of(logits, rows).split([len(row) - 1 for row in rows])
    return torch.cat([of[max(0, len(prompt) - 1) :] for of, prompt in zip(found, prompts, strict=True)])
