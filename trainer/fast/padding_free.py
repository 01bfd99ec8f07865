"""Padding-free training: the rows of a micro-batch are one concatenated sequence.

The rows of every step and their loss stay the same. Whether this holds for a model is tested on a few of the
job's rows: the loss must equal that of the padded batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from trainer.fast import attention
from trainer.fast.last_layer import is_narrow
from trainer.fast.layers import as_the_library, unfuse_layers
from trainer.fast.loss import all_logits, labelled_loss_class, output_scale
from trainer.fast.parts import divides, parts_of, sum_of_parts

if TYPE_CHECKING:
    from trainer.model.hardware import Hardware

IGNORED = -100

# Rows of that test, and tokens of each.
TRIED_ROWS = 3
TRIED_TOKENS = 48

# Relative difference of the two losses that rounding explains, by the type of the weights.
TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-3, "float16": 5e-3}

# Supported `layer_types` of transformers' configurations.
KINDS = ("full_attention", "sliding_attention")


def make_padding_free(model: Any, rows: Any, hardware: Hardware) -> str | None:
    """Switches `model`, which has its LoRA, to padding-free attention if the loss of the first of `rows`
    (with `input_ids`) stays the same; returns why it did not, or None. If not, the model has the library's
    layers again, except for single linear ones."""
    inner = model.get_base_model()
    # Different lengths reveal a row that attends to another.
    taken = [rows[index]["input_ids"] for index in range(min(TRIED_ROWS, len(rows)))]
    taken = [ids[: max(2, TRIED_TOKENS - 7 * index)] for index, ids in enumerate(taken)]
    batch = {name: value.to(model.device) for name, value in _padded(taken).items()}
    flat = {name: value.to(model.device) for name, value in _concatenated(taken).items()}
    why = why_padded(
        model,
        hardware,
        lambda: inner(**batch, use_cache=False).loss,
        lambda: padding_free_loss(inner, flat, None)[0],
    )
    if why is not None:
        unfuse_layers(model)
    return why


def why_padded(
    model: Any,
    hardware: Hardware,
    usual: Callable[[], Any],
    ours: Callable[[], Any],
    least: float = 0.0,
) -> str | None:
    """Switches `model` to padding-free attention if `ours()` then is what `usual()` is with the library's
    layers, both tensors; returns why it did not, or None. Their difference may be what rounding explains of
    the usual, or of `least`."""
    import torch

    inner = without_adapter(model)
    config = inner.config.get_text_config()
    if getattr(config, "output_router_logits", False):
        return "the model has a loss for the choice of experts"
    other = [kind for kind in getattr(config, "layer_types", None) or () if kind not in KINDS]
    if other:
        return f"the model has layers of {other[0]}"
    before, training = inner.config._attn_implementation, model.training
    # T5 does not say so, but calls it alike.
    replaceable = type(inner)._supports_attention_backend or config.is_encoder_decoder
    # It may have been switched for another kind of pass.
    if not replaceable or before not in ("sdpa", attention.NAME):
        return "the attention of the model cannot be replaced"
    why = "the model computes something else without padding"
    try:
        model.eval()
        with torch.no_grad(), autocast(hardware.device, hardware.autocast):
            with as_the_library(inner):
                expected = usual()
            _set_attention(inner, attention.register())
            found = ours()
        if near(found, expected, hardware, least):
            return None
    except (
        NotImplementedError,
        TypeError,
        ValueError,
        RuntimeError,
        AttributeError,
        KeyError,
        IndexError,
    ) as error:
        if "out of memory" in str(error).lower():
            raise
        why = f"the model cannot be computed without padding ({type(error).__name__}: {error})".splitlines()[
            0
        ][:200]
    finally:
        model.train(training)
    _set_attention(inner, before)
    return why


def near(found: Any, expected: Any, hardware: Hardware, least: float) -> bool:
    """Whether two tensors differ by no more than what rounding explains of `expected`, or of `least`."""
    bound = TOLERANCE[hardware.weights] * expected.abs().clamp(min=least)
    return bool(((found - expected).abs() <= bound).all())


def without_adapter(model: Any) -> Any:
    """The model that has the layers, with those of an adapter."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _set_attention(inner: Any, name: str) -> None:
    """Sets the attention of `inner` and of its parts, some of which have a copy of its configuration."""
    for part in inner.modules():
        if hasattr(getattr(part, "config", None), "_attn_implementation"):
            part.config._attn_implementation = name


def row_states(inner: Any, inputs: dict[str, Any], places: Any = None, **rows: Any) -> Any:
    """The last hidden states (tokens, size) of `inner` for one concatenated sequence: `input_ids` and
    `position_ids` (1, tokens). `rows` are the arguments of `attend` that tell its rows apart; with
    `past_key_values` it keeps keys and values. With `places` only the states of these tokens, in that order.
    """
    import torch

    if places is not None and is_narrow(inner):
        rows["used"] = places.unique()
    states = inner.base_model(
        input_ids=inputs["input_ids"],
        position_ids=inputs["position_ids"],
        # With four dimensions transformers makes no mask of its own: the row lengths replace it.
        attention_mask=torch.ones((1, 1, 1, 1), dtype=torch.bool, device=inputs["input_ids"].device),
        use_cache="past_key_values" in rows,
        **rows,
    ).last_hidden_state[0]
    return states if places is None else states[places]


def padding_free_loss(inner: Any, inputs: dict[str, Any], count: Any) -> tuple[Any, Any, Any]:
    """The loss of `inner`, a model with an output layer, on one concatenated sequence: `input_ids`,
    `position_ids` that restart with each row, and `labels`, each (1, tokens).

    It is the sum over the labelled tokens divided by `count`, or by their number if that is None. Returns it
    with the number of labelled tokens and of those that were predicted correctly.
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
        return sum_of_parts(inner, [partial(padding_free_loss, inner, part, count) for part in given])
    labels, hidden = labels[chosen], row_states(inner, inputs, chosen, row_lengths=lengths)
    number = torch.tensor(len(chosen), device=hidden.device)
    count = number.clamp(min=1) if count is None else count
    head = inner.get_output_embeddings()
    scale, softcap = output_scale(inner)
    if type(head) is torch.nn.Linear and not any(part.requires_grad for part in head.parameters()):
        loss, correct = labelled_loss_class().apply(
            hidden, head.weight, head.bias, scale, softcap, labels, count
        )
        return loss, number, correct
    logits = all_logits(inner, hidden)
    loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / count
    return loss, number, (logits.argmax(-1) == labels).sum()


def padding_free_trainer(base: type) -> type:
    """A subclass of the library's SFT trainer with the padding-free loss."""

    from trl.models.utils import _ForwardRedirection

    redirect = _ForwardRedirection()

    class PaddingFreeTrainer(base):
        """Takes the batches that the collator makes with `padding_free`: `input_ids`, `labels` and
        `position_ids` (1, tokens). Logs the number of tokens and the token accuracy."""

        def _get_dataloader(self, dataset: Any, *args: Any, **kwargs: Any) -> Any:
            loader = super()._get_dataloader(dataset, *args, **kwargs)
            per_step = self.args.gradient_accumulation_steps * self.args.world_size
            if not kwargs.get("is_training") or per_step == 1:
                return loader
            from trainer.fast.balanced_batches import balance_batches, rows_of

            inner = self.accelerator.unwrap_model(self.model).get_base_model()
            rows = rows_of(dataset, inner, self.args.per_device_train_batch_size)
            return balance_batches(loader, per_step, rows)

        def compute_loss(
            self,
            model: Any,
            inputs: dict[str, Any],
            return_outputs: bool = False,
            num_items_in_batch: Any = None,
        ) -> Any:
            mode = "train" if model.training else "eval"
            args = self.args
            half = "bfloat16" if args.bf16 else "float16" if args.fp16 else None
            with autocast(args.device.type, half):
                unwrapped = self.accelerator.unwrap_model(model)
                given = unwrapped.get_base_model(), inputs, num_items_in_batch
                if model is unwrapped:
                    loss, number, correct = padding_free_loss(*given)
                else:
                    # Within the forward pass of DDP, which averages the gradients of the ranks only then.
                    loss, number, correct = redirect(model, unwrapped, padding_free_loss, *given)
            if mode == "train":
                self._total_train_tokens += inputs["input_ids"].shape[1]
            self._metrics[mode]["num_tokens"] = [self._total_train_tokens]
            self._metrics[mode]["mean_token_accuracy"].append(float(correct) / max(1, int(number)))
            return (loss, {}) if return_outputs else loss

    return PaddingFreeTrainer


def autocast(device: str, half: str | None) -> Any:
    """Autocast to the torch dtype `half` on `device`, or none."""
    import torch

    return torch.autocast(device, getattr(torch, half)) if half else contextlib.nullcontext()


def _padded(rows: list[list[int]]) -> dict[str, Any]:
    """`rows` as a padded batch in which the second half of each is learned."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([row + [row[-1]] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    labels = torch.tensor([_second_half(row) + [IGNORED] * (width - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def _concatenated(rows: list[list[int]]) -> dict[str, Any]:
    """`rows` as one concatenated sequence in which the second half of each is learned."""
    import torch

    ids = torch.tensor([[token for row in rows for token in row]])
    places = torch.tensor([[place for row in rows for place in range(len(row))]])
    labels = torch.tensor([[label for row in rows for label in _second_half(row)]])
    return {"input_ids": ids, "position_ids": places, "labels": labels}


def _second_half(row: list[int]) -> list[int]:
    """The labels of a row whose first half is not learned."""
    half = len(row) // 2
    return [IGNORED] * half + row[half:]
