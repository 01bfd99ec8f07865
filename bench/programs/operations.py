"""Counts the operations that a training step on a CPU needs at least: multiplications and additions in matrix products.

Per token that is trained on, 2 for each weight of the layers forward and 2 backward (to the inputs: the weights are
frozen), and 6 for each weight of an adapter. In attention 4 forward and 8 backward for each pair of tokens of which one
sees the other, each layer and each place of the heads. In the output layer 4 for each of its weights and each learned
token. Padding, logits of prompts and what is computed a second time do not count. Of a preference, the prompt counts once;
its reference adds the forward part, without the adapter.
"""

from typing import Any

# Places of weights that keys and values of an encoder's output are made with.
CROSS = ("EncDecAttention.k", "EncDecAttention.v")


def operations_of(model: Any, inputs: dict[str, Any]) -> float:
    """The operations of a step of `model`, a Llama or T5 with LoRA, with a micro-batch as Hone makes it."""
    inner = model.get_base_model()
    config = inner.config
    learned, passes = 0, 1
    if "lengths" in inputs:
        # The second pass is that of the reference.
        learned, passes = len(inputs["labels"]), 2
        prompt, chosen, rejected = inputs["lengths"].double().unbind(1)
        source = target = float(inputs["lengths"].sum())
        first = (prompt + chosen) * (prompt + chosen + 1)
        pairs = float((first + rejected * (2 * prompt + rejected + 1)).sum()) / 2
    else:
        learned = int((inputs["labels"] != -100).sum())
        if "position_ids" in inputs:
            positions = inputs["position_ids"][0]
            source = target = len(positions)
            # A token sees those before it and itself.
            pairs = float((positions + 1).sum())
        else:
            sources = inputs["attention_mask"].sum(1).double()
            targets = (inputs["labels"] != -100).sum(1).double()
            source, target = float(sources.sum()), float(targets.sum())
            pairs = float((sources**2 + targets * (targets + 1) / 2 + targets * sources).sum())
    total = 0.0
    for name, weights in model.named_parameters():
        if weights.ndim != 2 or not ("layers." in name or "block." in name) or "relative" in name:
            continue
        encodes = ".encoder." in name or any(place in name for place in CROSS)
        factor = 6 if "lora_" in name else 2 * (passes + 1)
        # A byte has two weights of 4 bits.
        count = weights.numel() * (2 if weights.element_size() == 1 else 1)
        total += factor * count * (source if encodes else target)
    width = getattr(config, "head_dim", None) or getattr(config, "d_kv", 0)
    layers = config.num_hidden_layers
    total += config.num_attention_heads * width * layers * pairs * (4 * passes + 8)
    return total + 2 * (passes + 1) * inner.get_output_embeddings().weight.numel() * learned
