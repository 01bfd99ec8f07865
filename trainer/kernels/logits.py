"""What a model makes of its last hidden states, found by watching it: not its configuration, whose names for
scales of logits differ from family to family."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel
    from transformers.utils import ModelOutput

# The magnitudes of the logits that a model is watched with, as powers of 2: those of the least show its
# scale, and the largest is where every softcap ends.
LEAST, LARGEST = -10, 14
# Relative difference that float32 explains.
ROUNDING = 1e-5


class Logits(NamedTuple):
    """The logits of a model after its last hidden states, where `head` is its output layer:
    `cap(after * head(before * states))` with `cap(x) = softcap * tanh(x / softcap)`, or `x` without one."""

    before: float
    after: float
    softcap: float | None

    def of(self, raw: Tensor) -> Tensor:
        """The logits that the model makes of what its output layer returns, as float32."""
        import torch

        logits = raw.float()
        if self.after != 1.0:
            logits = logits * self.after
        return logits if self.softcap is None else self.softcap * torch.tanh(logits / self.softcap)


_found: WeakKeyDictionary[Module, Logits | None] = WeakKeyDictionary()


def logits_of(inner: PreTrainedModel) -> Logits:
    """How the model `inner`, without an adapter's wrapper, makes its logits; watches a model once.
    NotImplementedError where it does something else than to scale and to cap them."""
    if inner not in _found:
        _found[inner] = _watch(inner)
    found = _found[inner]
    if found is None:
        raise NotImplementedError("it does more with its logits than to scale and to cap them")
    return found


def body_of(inner: PreTrainedModel) -> PreTrainedModel:
    """The part of the model `inner` that makes the last hidden states of its output layer: the decoder of an
    encoder-decoder model, otherwise the child with the input embeddings. `base_model` is not always it."""
    if inner.config.is_encoder_decoder:
        return inner.get_decoder()
    embeddings = inner.get_input_embeddings()
    for child in inner.children():
        if child is not embeddings and any(module is embeddings for module in child.modules()):
            return child
    return inner.base_model


@contextmanager
def replaced_forward(module: Module, forward: Callable[..., object]) -> Iterator[None]:
    """Within it, the forward pass of `module` is `forward`."""
    own = vars(module).get("forward")
    module.forward = forward
    try:
        yield
    finally:
        if own is None:
            del module.forward
        else:
            module.forward = own


def with_states(output: ModelOutput, states: Tensor) -> ModelOutput:
    """The `output` of a model's body with other last hidden states."""
    return type(output)(**{**output, "last_hidden_state": states})


def _watch(inner: PreTrainedModel) -> Logits | None:
    """Lets `inner` compute one token with known hidden states, and with known values in place of those that
    its output layer returns: what reaches that layer and what the model returns tell what it does to both."""
    import torch

    head, body = inner.get_output_embeddings(), body_of(inner)
    width = getattr(head, "out_features", None) or head.weight.shape[0]
    raw = 2.0 ** torch.linspace(LEAST, LARGEST, width, device=inner.device)
    raw[1::2] *= -1
    forward, ratios = body.forward, []

    def states(*args: object, **kwargs: object) -> ModelOutput:
        output = forward(*args, **kwargs)
        last = output.last_hidden_state
        return with_states(output, _known(last.shape[-1], last).expand_as(last))

    def values(reached: Tensor) -> Tensor:
        ratios.append(reached[0, -1].float() / _known(reached.shape[-1], reached).float())
        return raw.expand(*reached.shape[:-1], width)

    token = torch.zeros(1, 1, dtype=torch.long, device=inner.device)
    others = {"decoder_input_ids": token} if inner.config.is_encoder_decoder else {}
    training = inner.training
    inner.eval()
    try:
        with torch.no_grad(), replaced_forward(body, states), replaced_forward(head, values):
            logits = inner(input_ids=token, use_cache=False, **others).logits[0, -1].float()
    finally:
        inner.train(training)
    if len(ratios) != 1 or logits.shape != raw.shape:
        return None
    before, after, largest = ratios[0], float(logits[0] / raw[0]), float(logits[-1].abs())
    # The least value of a softcap is rounded.
    after = 1.0 if abs(after - 1.0) < ROUNDING else after
    capped = largest < 0.5 * abs(after * float(raw[-1]))
    found = Logits(float(before[0]), after, largest if capped else None)
    alike = torch.allclose(before, before[:1], rtol=ROUNDING, atol=0.0)
    return found if alike and torch.allclose(found.of(raw), logits, rtol=ROUNDING, atol=0.0) else None


def _known(size: int, like: Tensor) -> Tensor:
    """Hidden states of one token: powers of 2, whose products with a number are all rounded alike."""
    import torch

    known = 2.0 ** (torch.arange(size, device=like.device) % 5 - 2)
    known[1::2] *= -1
    return known.to(like.dtype)
