"""Rows of encoder-decoder models without padding: the sources of a batch are one sequence, its targets too.

For models whose positions only count by their distance, such as T5. Whether a model gives the same loss is
tested on a few of the job's rows, as for other rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.kernels.loss import has_frozen_head, labelled_loss, log_probabilities
from trainer.libraries.peft import without_adapter
from trainer.libraries.transformers import short_biases
from trainer.padding_free.labelled import IGNORED, TRIED_ROWS, TRIED_TOKENS
from trainer.padding_free.padding_free import why_padded

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.model.hardware import Hardware


def collate(rows: list[dict[str, list[int]]]) -> dict[str, Tensor]:
    """A batch of `rows` (`input_ids`, `labels`): each of these concatenated, (1, tokens), and `lengths`
    (rows, 2), those of sources and targets."""
    import torch

    batch = {
        # First: the library counts the rows of the first tensor.
        "lengths": torch.tensor([[len(row["input_ids"]), len(row["labels"])] for row in rows])
    }
    for name in ("input_ids", "labels"):
        batch[name] = torch.tensor([[token for row in rows for token in row[name]]])
    # The library counts tokens with it.
    return batch | {"attention_mask": torch.ones_like(batch["input_ids"])}


def flat_loss(inner: PreTrainedModel, inputs: dict[str, Tensor]) -> Tensor:
    """The mean loss of the labels of a batch of `collate`, by the model `inner`."""
    labels = inputs["labels"][0]
    return labelled_loss(inner, _states(inner, inputs), labels, len(labels))[0]


def _states(inner: PreTrainedModel, inputs: dict[str, Tensor]) -> Tensor:
    """The decoder's last hidden states (targets, size)."""
    import torch

    sources, targets = inputs["lengths"].unbind(1)
    begins = targets.cumsum(0) - targets
    given = inputs["labels"].roll(1, 1)
    given[0, begins] = inner.config.decoder_start_token_id
    # With four dimensions transformers makes no mask of its own: the row lengths replace it.
    mask = torch.ones((1, 1, 1, 1), dtype=torch.bool, device=given.device)
    with short_biases(inner, int(inputs["lengths"].max())):
        encoded = inner.get_encoder()(
            input_ids=inputs["input_ids"], attention_mask=mask, row_lengths=sources.tolist()
        ).last_hidden_state
        return inner.get_decoder()(
            input_ids=given,
            attention_mask=mask,
            encoder_hidden_states=encoded,
            encoder_attention_mask=mask,
            use_cache=False,
            row_lengths=targets.tolist(),
            source_lengths=sources.tolist(),
        ).last_hidden_state[0]


def make_seq2seq_padding_free(model: PreTrainedModel, rows: Dataset, hardware: Hardware) -> str | None:
    """Switches `model`, which has its LoRA, to padding-free attention if the labels of the first of `rows`
    stay as likely; returns why it did not, or None."""
    import torch

    inner = without_adapter(model)
    if not has_frozen_head(inner):
        return "the output layer is trained"
    taken = []
    for index in range(min(TRIED_ROWS, len(rows))):
        # Different lengths reveal a row that attends to another.
        lengths = {"input_ids": max(2, TRIED_TOKENS - 7 * index), "labels": max(2, TRIED_TOKENS // 4 + index)}
        taken.append({name: rows[index][name][:length] for name, length in lengths.items()})

    def padded(name: str, filler: int) -> Tensor:
        width = max(len(row[name]) for row in taken)
        every = [row[name] + [filler] * (width - len(row[name])) for row in taken]
        return torch.tensor(every, device=model.device)

    flat = {name: value.to(model.device) for name, value in collate(taken).items()}

    def usual() -> Tensor:
        logits = inner(
            input_ids=padded("input_ids", 0),
            attention_mask=(padded("input_ids", -1) >= 0).long(),
            labels=padded("labels", IGNORED),
            use_cache=False,
        ).logits.float()
        found, labels = logits.log_softmax(-1), [row["labels"] for row in taken]
        return torch.cat([found[at, range(len(own)), own] for at, own in enumerate(labels)])

    def ours() -> Tensor:
        return log_probabilities(inner, _states(inner, flat), flat["labels"][0], figures=False)[0]

    return why_padded(model, hardware, usual, ours)
