"""The adapter that is merged into its base model: what cannot be merged, and what it changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export.merge import adapter as adapters
from trainer.export.merge.weights import StoredTensor
from trainer.model import check, view
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
ADVICE = "Merge it with PEFT (merge_and_unload, save_pretrained) and train the folder that this makes."
# Kinds of LoRA that are more than B·A of a weight (PEFT 0.21), by the option that chooses them. The service
# refuses them before the start (src/domain/base-models/adapter-base.ts).
OTHER_KINDS = {
    "use_qalora": "QALoRA",
    "use_bdlora": "BD-LoRA",
    "lora_bias": "biases of its own",
    "alora_invocation_tokens": "an activated adapter (aLoRA)",
    "layer_replication": "replicated layers",
    "trainable_token_indices": "trained tokens",
    "megatron_config": "Megatron's layers",
    "arrow_config": "Arrow's routing",
    "monteclora_config": "MonteCLoRA",
    "velora_config": "VeLoRA",
    "kasa_config": "KaSA",
}
# Initializations that leave the base's weights as they are; others (PiSSA, OLoRA, …) are for changed ones.
PLAIN_STARTS = (None, True, False, "gaussian", "eva", "orthogonal")


def read_config(folder: Path, name: str) -> dict[str, object]:
    """The adapter's configuration; Failure for an adapter that cannot be merged."""
    check.check_sizes(folder, name)
    config = view.read_json(folder, CONFIG)
    if not isinstance(config, dict) or view.find(folder, WEIGHTS) is None:
        raise Failure(
            "bad_model",
            f"{name} is no adapter as PEFT writes it: it needs {CONFIG} and {WEIGHTS}.",
            "Put the files back, or leave merge_adapter out.",
        )
    why = _why_not(config)
    if why is not None:
        raise Failure("unsupported", f"The adapter {name} cannot be merged here: {why}.", ADVICE)
    return config


def _why_not(config: Mapping[str, object]) -> str | None:
    kind = config.get("peft_type")
    if kind != "LORA":
        return f"it is of the kind {kind}, and only LoRA can be"
    for option, words in OTHER_KINDS.items():
        if config.get(option):
            return f"it has {words}"
    start = config.get("init_lora_weights")
    if start not in PLAIN_STARTS:
        return f"it was trained on changed weights (init_lora_weights is {start})"
    if not isinstance(config.get("lora_alpha"), (int, float)):
        return "its configuration has no lora_alpha"
    return None


def load(folder: Path, name: str, config: ModelConfig, base: dict[str, StoredTensor]) -> adapters.Adapter:
    """What the adapter in `folder` changes of the tensors of `base`, a model with this `config`."""
    try:
        found = adapters.load(folder, base, adapters.shares_embedding(config, base))
    except Failure as error:
        code = "bad_model" if error.code == "internal" else error.code
        raise Failure(code, f"{name} cannot be merged here: {error}", ADVICE) from error
    for tensor, update in found.updates.items():
        flat = all(len(factor.shape) == 2 for low, _ in update.parts for factor in low.stored)
        if not base[tensor].floating or not flat:
            raise Failure(
                "unsupported",
                f"{name} cannot be merged here: it changes {tensor}, which is no plain matrix.",
                ADVICE,
            )
    return found
