"""Padding-free training: the rows of a micro-batch are one concatenated sequence.

The rows of every step and their loss stay the same. Whether this holds for a model is tested on a few of the
job's rows: each token must be as likely as in the padded batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from trainer.kernels import attention
from trainer.kernels.allowed import why_not
from trainer.kernels.install import install_linear
from trainer.kernels.last_layer import is_narrow
from trainer.kernels.logits import body_of
from trainer.kernels.loss import log_probabilities
from trainer.libraries.peft import without_adapter
from trainer.libraries.transformers import attention_of, set_attention, takes_other_attention
from trainer.padding_free.labelled import (
    IGNORED,
    OfStates,
    concatenated,
    labels_only,
    padded,
    tried_rows,
)
from trainer.padding_free.parts import divides, parts_of, sum_of_parts
from trainer.padding_free.trial import is_alike, log_probabilities_of, why_different

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.model.hardware import Hardware

# Supported `layer_types` of transformers' configurations.
KINDS = ("full_attention", "sliding_attention")


def make_padding_free(model: PreTrainedModel, rows: Dataset, hardware: Hardware) -> str | None:
    """Switches `model`, which has its LoRA, to padding-free attention if the tokens of the first of `rows`
    (with `input_ids`) stay as likely and their loss the same; returns why it did not, or None. If not, the
    model has the library's layers again, except for single linear ones."""
    import torch

    inner = without_adapter(model)
    taken = tried_rows(rows)
    lengths = [len(row) for row in taken]
    batch = {name: value.to(model.device) for name, value in padded(taken).items()}
    flat = {name: value.to(model.device) for name, value in concatenated(taken).items()}
    learned = (flat["position_ids"][0] > 0).nonzero()[:, 0]

    def usual() -> Tensor:
        output = inner(**batch, use_cache=False)
        return torch.cat([log_probabilities_of(output.logits, taken), output.loss.float()[None]])

    def ours() -> Tensor:
        states = row_states(inner, flat, learned - 1, row_lengths=lengths)
        each, _ = log_probabilities(inner, states, flat["input_ids"][0, learned], figures=False)
        return torch.cat([each, padding_free_loss(inner, flat, None)[0][None]])

    why = why_padded(model, hardware, usual, ours)
    if why is not None:
        install_linear(model, hardware.device)
    return why


def why_padded(
    model: PreTrainedModel, hardware: Hardware, usual: Callable[[], Tensor], ours: Callable[[], Tensor]
) -> str | None:
    """Switches `model` to padding-free attention if `ours()` then `is_alike` what `usual()` is with the
    library's layers; returns why it did not, or None."""
    import torch

    off = why_not("padding-free rows", hardware.device)
    if off is not None:
        return off
    inner = without_adapter(model)
    config = inner.config.get_text_config()
    if getattr(config, "output_router_logits", False):
        return "the model has a loss for the choice of experts"
    other = [kind for kind in getattr(config, "layer_types", None) or () if kind not in KINDS]
    if other:
        return f"the model has layers of {other[0]}"
    if any(isinstance(module, torch.nn.Conv1d) for module in inner.modules()):
        # It reaches into the row before.
        return "the model has convolutions over tokens"
    if getattr(config, "num_kv_shared_layers", 0):
        return "the model's layers share keys and values"
    before = attention_of(inner)
    # T5 does not say so, but calls it alike.
    replaceable = takes_other_attention(inner) or config.is_encoder_decoder
    # It may have been switched for another kind of pass.
    if not replaceable or before not in ("sdpa", attention.NAME):
        return "the attention of the model cannot be replaced"

    def switched() -> Tensor:
        set_attention(inner, attention.register())
        return ours()

    why = why_different(lambda: is_alike(model, hardware, usual, switched), "without padding")
    if why is not None:
        set_attention(inner, before)
    return why


def row_states(
    inner: PreTrainedModel, inputs: dict[str, Tensor], positions: Tensor | None = None, **rows: object
) -> Tensor:
    """The last hidden states (tokens, size) of `inner` for one concatenated sequence: `input_ids` and
    `position_ids` (1, tokens). `rows` are the arguments of `attend` that tell its rows apart; with
    `past_key_values` it keeps keys and values. With `positions` only the states of these tokens, in that
    order.
    """
    import torch

    if positions is not None and is_narrow(inner):
        rows["used"] = positions.unique()
    states = body_of(inner)(
        input_ids=inputs["input_ids"],
        position_ids=inputs["position_ids"],
        # With four dimensions transformers makes no mask of its own: the row lengths replace it.
        attention_mask=torch.ones((1, 1, 1, 1), dtype=torch.bool, device=inputs["input_ids"].device),
        use_cache="past_key_values" in rows,
        **rows,
    ).last_hidden_state[0]
    return states if positions is None else states[positions]


def padding_free_loss(
    inner: PreTrainedModel,
    inputs: dict[str, Tensor],
    count: Tensor | int | None,
    of_states: OfStates = labels_only,
) -> tuple[Tensor, ...]:
    """The loss of `inner`, a model with an output layer, on one concatenated sequence: `input_ids`,
    `position_ids` that restart with each row, and `labels`, each (1, tokens).

    It is the sum over the labelled tokens divided by `count`, or by their number if that is None. Returns it
    with the number of labelled tokens and the figures of `of_states`: how many were predicted correctly, and
    perhaps more.
    """
    import torch

    starts = (inputs["position_ids"][0] == 0).nonzero()[:, 0].tolist()
    ends = [*starts[1:], inputs["input_ids"].shape[1]]
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    # A token predicts the next one; the first token of a row is predicted by none.
    labels = inputs["labels"][0].masked_fill(inputs["position_ids"][0] == 0, IGNORED).roll(-1)
    chosen = (labels != IGNORED).nonzero()[:, 0]
    if divides(inputs) and len(parts := parts_of(lengths)) > 1:
        count = chosen.new_tensor(max(1, len(chosen))) if count is None else count
        rows = {name: inputs[name][0].split(lengths) for name in ("input_ids", "labels", "position_ids")}
        given = [
            {name: torch.cat([every[row] for row in part])[None] for name, every in rows.items()}
            for part in parts
        ]
        return sum_of_parts(
            inner, [partial(padding_free_loss, inner, part, count, of_states) for part in given]
        )
    labels, hidden = labels[chosen], row_states(inner, inputs, chosen, row_lengths=lengths)
    number = torch.tensor(len(chosen), device=hidden.device)
    count = number.clamp(min=1) if count is None else count
    loss, *figures = of_states(inner, hidden, labels, count, inputs)
    return loss, number, *figures
