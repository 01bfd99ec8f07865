"""Rows of encoders with a question answering head without padding: those of a batch are one sequence.

Whether a model gives the same losses is tested on a few of the job's rows, as for other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from trainer.libraries.peft import without_adapter
from trainer.padding_free.labelled import TRIED_ROWS, TRIED_TOKENS
from trainer.padding_free.padding_free import row_states, why_padded

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.model.hardware import Hardware

LABELS = ("start_positions", "end_positions")
# What the head is called that every such model of transformers has.
HEAD = "qa_outputs"


class Collate:
    """Makes the batches of `span_losses`, for a model whose positions begin at `first`."""

    def __init__(self, first: int) -> None:
        self.first = first

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        """A batch of `rows`, one concatenated sequence: `input_ids`, `position_ids` that restart with each
        row, `attention_mask` and, where rows have them, `token_type_ids`, each (1, tokens). `lengths` has the
        tokens of each row, and `start_positions` and `end_positions` are counted from its first."""
        import torch

        lengths = [len(row["input_ids"]) for row in rows]
        positions = [self.first + offset for length in lengths for offset in range(length)]
        batch = {
            # First: the library counts the rows of the first tensor.
            "lengths": torch.tensor(lengths),
            "position_ids": torch.tensor([positions]),
            # The library counts tokens with it.
            "attention_mask": torch.ones(1, sum(lengths), dtype=torch.long),
        }
        for name in ("input_ids", "token_type_ids"):
            if name in rows[0]:
                batch[name] = torch.tensor([[value for row in rows for value in row[name]]])
        return batch | {name: torch.tensor([int(row[name]) for row in rows]) for name in LABELS}


def span_logits(inner: PreTrainedModel, inputs: dict[str, Tensor]) -> list[Tensor]:
    """The logits of start and end (2, tokens) of each row, float32."""
    lengths = inputs["lengths"].tolist()
    typed = {"token_type_ids": inputs["token_type_ids"]} if "token_type_ids" in inputs else {}
    logits = getattr(inner, HEAD)(row_states(inner, inputs, row_lengths=lengths, **typed)).float()
    return [row.t() for row in logits.split(lengths)]


def span_losses(inner: PreTrainedModel, inputs: dict[str, Tensor]) -> Tensor:
    """The loss of each row: the mean of the cross entropies of its start and its end, among its tokens."""
    import torch

    labels = torch.stack([inputs[name] for name in LABELS], 1)
    losses = map(torch.nn.functional.cross_entropy, span_logits(inner, inputs), labels)
    return torch.stack(list(losses))


def span_loss(inner: PreTrainedModel, inputs: dict[str, Tensor]) -> Tensor:
    """The mean of the losses of a batch's rows."""
    return span_losses(inner, inputs).mean()


def first_position(inner: PreTrainedModel) -> int:
    """What a model's positions begin at: RoBERTa's follow the number of its padding token."""
    import torch

    for name, module in inner.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            return 0 if module.padding_idx is None else module.padding_idx + 1
    return 0


def make_spans_padding_free(model: PreTrainedModel, rows: Dataset, hardware: Hardware) -> str | None:
    """Switches `model`, which has its LoRA, to padding-free attention if the first of `rows` have the same
    probabilities of all positions where answers could begin and end; returns why it did not, or None."""
    import torch

    inner = without_adapter(model)
    if inner.config.is_encoder_decoder:
        return "the model has an encoder and a decoder"
    if [name for name, _ in inner.named_children()] != [inner.base_model_prefix, HEAD]:
        return "the head of the model has other parts"
    # Different lengths reveal a row that attends to another.
    taken = []
    for index in range(min(TRIED_ROWS, len(rows))):
        row, length = rows[index], max(2, TRIED_TOKENS - 7 * index)
        cut = {name: row[name][:length] for name in ("input_ids", "token_type_ids") if name in row}
        taken.append(cut | dict.fromkeys(LABELS, 0))
    batch = Collate(first_position(inner))(taken)
    batch = {name: value.to(model.device) for name, value in batch.items()}

    def apart() -> Iterator[Tensor]:
        """The library's logits of each row, without any other."""
        for row in taken:
            own = {name: torch.tensor([row[name]], device=model.device) for name in row if name not in LABELS}
            found = inner(**own, attention_mask=torch.ones_like(own["input_ids"]))
            yield torch.cat([found.start_logits, found.end_logits]).float()

    def scores(every: Iterable[Tensor]) -> Tensor:
        return torch.cat([logits.log_softmax(-1).flatten() for logits in every])

    return why_padded(model, hardware, lambda: scores(apart()), lambda: scores(span_logits(inner, batch)))
