"""Counts the operations that a training step on a CPU needs at least: multiplications and additions in matrix products.

Per token that is trained on, 2 for each weight of the layers forward and 2 backward (to the inputs: the weights are
frozen), and 6 for each weight of an adapter or another that is trained. In attention 4 forward and 8 backward for each pair of tokens of which one
sees the other, each layer and each place of the heads. In the output layer 4 for each of its weights and each learned
token, 6 where it is trained. Padding, logits of prompts and what is computed a second time do not count; the last layer counts for all tokens,
though those that are not learned need only its keys and values. Of a preference, the prompt counts once;
its reference adds the forward part, without the adapter. A reward model has no reference, and one output.
"""

from typing import Any

# What the names of weights in layers contain.
LAYERS = ("layers.", "layer.", "block.")
# Places of weights that keys and values of an encoder's output are made with.
CROSS = ("EncDecAttention.k", "EncDecAttention.v")


def operations_of(model: Any, inputs: dict[str, Any]) -> float:
    """The operations of a step of `model`, a Llama, T5 or BERT, with a micro-batch as Hone makes it."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    config = inner.config
    learned, passes = 0, 1
    if "parts" in inputs:
        lengths, shared = inputs["parts"].double().unbind(1)
        source = target = float(lengths.sum())
        # The head has one output, so that its operations do not count.
        pairs = float((lengths * (lengths + 1) / 2 + lengths * shared).sum())
    elif "start_positions" in inputs:
        source = target = float(inputs["lengths"].sum())
        # Each token sees all of its row. The head's operations do not count: it has two outputs.
        pairs = float((inputs["lengths"].double() ** 2).sum())
    elif "lengths" in inputs and inputs["lengths"].shape[1] == 2:
        sources, targets = inputs["lengths"].double().unbind(1)
        source, target = float(sources.sum()), float(targets.sum())
        learned = inputs["labels"].numel()
        pairs = float(
            (sources**2 + targets * (targets + 1) / 2 + targets * sources).sum()
        )
    elif "lengths" in inputs:
        # The second pass is that of the reference.
        learned, passes = len(inputs["labels"]), 2
        prompt, chosen, rejected = inputs["lengths"].double().unbind(1)
        source = target = float(inputs["lengths"].sum())
        first = (prompt + chosen) * (prompt + chosen + 1)
        pairs = float((first + rejected * (2 * prompt + rejected + 1)).sum()) / 2
    else:
        learned = int((inputs["labels"] != -100).sum())
        positions = inputs["position_ids"][0]
        source = target = len(positions)
        # A token sees those before it and itself.
        pairs = float((positions + 1).sum())
    total = 0.0
    for name, weights in model.named_parameters():
        if (
            weights.ndim != 2
            or not any(part in name for part in LAYERS)
            or "relative" in name
        ):
            continue
        encodes = ".encoder." in name or any(place in name for place in CROSS)
        factor = 6 if weights.requires_grad else 2 * (passes + 1)
        # A byte has two weights of 4 bits.
        count = weights.numel() * (2 if weights.element_size() == 1 else 1)
        total += factor * count * (source if encodes else target)
    width = getattr(config, "head_dim", None) or getattr(config, "d_kv", None)
    width = width or config.hidden_size // config.num_attention_heads
    layers = config.num_hidden_layers
    total += config.num_attention_heads * width * layers * pairs * (4 * passes + 8)
    if learned == 0:
        return total
    head = inner.get_output_embeddings().weight
    return total + 2 * (passes + 1 + head.requires_grad) * head.numel() * learned


def bytes_of_layers(model: Any) -> int:
    """The bytes of the frozen matrices in the layers of `model`; of those in 4 bits, with what scales them."""
    total = 0
    for name, weights in model.named_parameters():
        if (
            weights.ndim != 2
            or weights.requires_grad
            or not any(part in name for part in LAYERS)
        ):
            continue
        total += weights.nbytes
        state = getattr(weights, "quant_state", None)
        if state is not None:
            inner = [state.state2.absmax, state.state2.code] if state.nested else []
            total += sum(part.nbytes for part in (state.absmax, *inner))
    return total
