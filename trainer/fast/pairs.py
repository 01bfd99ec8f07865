"""Preference pairs without padding: a prompt with both of its answers is one row, and the prompt is computed
once.

The pairs of every step, their log-probabilities and their loss stay the same. Whether this holds for a model
is tested on a few of the job's pairs, as for other rows.
"""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING, Any

from trainer.fast.layers import as_the_library, fuse_layers, unfuse_layers
from trainer.fast.loss import log_probabilities
from trainer.fast.padding_free import autocast, near, row_states, why_padded, without_adapter
from trainer.fast.shared_rows import SharedRows

if TYPE_CHECKING:
    from trainer.model.hardware import Hardware

# Pairs of that test, and the most tokens of a prompt and of an answer.
TRIED_PAIRS = 8
TRIED_TOKENS = 32


def collate(pairs: list[dict[str, list[int]]]) -> dict[str, Any]:
    """A batch of `pairs` (`prompt_ids`, `chosen_ids`, `rejected_ids`): each prompt with its chosen and then
    its rejected answer, one concatenated sequence.

    `lengths` (pairs, 3) has the tokens of these three; `labels` the tokens of all answers in their order and
    `places` where in the sequence each is predicted: the first of both answers by the last of the prompt.
    The first token of all is predicted by none and has no label. `keys` are numbers that tell pairs apart.
    """
    import torch

    laid = SharedRows()
    labels: list[int] = []
    places: list[int] = []
    for pair in pairs:
        prompt = pair["prompt_ids"]
        for name, shared in (("chosen_ids", 0), ("rejected_ids", len(prompt))):
            row = [*prompt, *pair[name]]
            laid.add(row, shared)
            learned = range(max(1, len(prompt)), len(row))
            places += laid.predictions(len(laid.starts) - 1, learned)
            labels += row[learned.start :]
    return {
        # First: the library counts the rows of the first tensor.
        "lengths": torch.tensor([[len(part) for part in _parts(pair)] for pair in pairs]),
        **laid.tensors(),
        "labels": torch.tensor(labels, dtype=torch.long),
        "places": torch.tensor(places, dtype=torch.long),
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
    inner: Any, inputs: dict[str, Any], figures: bool = True
) -> tuple[Any, Any, list[int]]:
    """The log-probability of each answer (pairs, 2), chosen first, by the model `inner` for a batch of
    `collate`; of each label what `log_probabilities` tells with `figures`; and the labels of each answer."""
    import torch

    row_lengths, shared, counts = [], [], []
    for prompt, chosen, rejected in inputs["lengths"].tolist():
        row_lengths += [prompt + chosen, rejected]
        shared += [0, prompt]
        counts += [max(0, length - (prompt == 0)) for length in (chosen, rejected)]
    states = row_states(inner, inputs, inputs["places"], row_lengths=row_lengths, shared=shared)
    found, told = log_probabilities(inner, states, inputs["labels"], figures)
    sums = torch.stack([part.sum() for part in found.split(counts)])
    return sums.view(-1, 2), told, counts


def fuse_layers_for_pairs(model: Any, pairs: Any, hardware: Hardware) -> None:
    """Replaces the layers of `model`, which has its LoRA, by ours if the log-probabilities of both answers of
    the first of `pairs` stay the same; otherwise only its single linear layers."""
    import torch

    taken, inner, training = _tried(pairs), without_adapter(model), model.training
    tokens = sum(len(pair[name]) for pair in taken for name in ("chosen_ids", "rejected_ids"))
    fuse_layers(model)
    model.eval()
    with torch.no_grad(), autocast(hardware.device, hardware.autocast):
        found = _padded_log_probabilities(inner, taken) / tokens
        with as_the_library(inner):
            expected = _padded_log_probabilities(inner, taken) / tokens
    model.train(training)
    # What rounding does to a log-probability that is near 0 does not depend on it.
    if not near(found, expected, hardware, least=1.0):
        unfuse_layers(model)


def _tried(pairs: Any) -> list[dict[str, list[int]]]:
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


def make_pairs_padding_free(model: Any, pairs: Any, hardware: Hardware) -> str | None:
    """Switches `model` to padding-free attention if the log-probabilities of both answers of the first of
    `pairs` stay the same; returns why it did not, or None."""
    taken = _tried(pairs)
    inner = without_adapter(model)
    batch = {
        name: value if name == "keys" else value.to(model.device) for name, value in collate(taken).items()
    }
    tokens = max(1, len(batch["labels"]) // 2)
    return why_padded(
        model,
        hardware,
        lambda: _padded_log_probabilities(inner, taken) / tokens,
        lambda: answer_log_probabilities(inner, batch, figures=False)[0].sum(0) / tokens,
        # What rounding does to a log-probability that is near 0 does not depend on it.
        least=1.0,
    )


def _padded_log_probabilities(inner: Any, pairs: list[dict[str, list[int]]]) -> Any:
    """The log-probabilities of all chosen and of all rejected answers (2), computed as the library does."""
    import torch

    totals = []
    for name in ("chosen_ids", "rejected_ids"):
        rows = [(pair["prompt_ids"], pair[name]) for pair in pairs]
        width = max(len(prompt) + len(answer) for prompt, answer in rows)
        ids, mask, learned = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(3))
        for at, (prompt, answer) in enumerate(rows):
            length = len(prompt) + len(answer)
            ids[at, :length] = torch.tensor(prompt + answer)
            mask[at, :length] = 1
            learned[at, len(prompt) : length] = 1
        ids, mask, learned = (tensor.to(inner.device) for tensor in (ids, mask, learned))
        logits = inner(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1].float()
        found = logits.log_softmax(-1).gather(2, ids[:, 1:, None])[:, :, 0]
        totals.append((found * learned[:, 1:]).sum())
    return torch.stack(totals)
