"""What Hone uses of PEFT beside its public interface. PEFT says what it does not take only when the adapter
is made, with the whole model loaded."""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING

from trainer.libraries.versions import require

if TYPE_CHECKING:
    from peft.tuners.lora import LoraLayer
    from transformers import PreTrainedModel

require("peft")


def without_adapter(model: PreTrainedModel) -> PreTrainedModel:
    """The model that has the layers, with those of an adapter if it has one."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def is_refused(model: PreTrainedModel, leaf: str) -> bool:
    """Whether PEFT refuses modules of this name in `model`, as the output of some state-space layers."""
    from peft import LoraConfig
    from peft.tuners.tuners_utils import _check_lora_target_modules_mamba

    try:
        _check_lora_target_modules_mamba(LoraConfig(), model, leaf)
        return False
    except ValueError:
        return True


def is_taken_for_experts(model: PreTrainedModel, leaf: str) -> bool:
    """Whether PEFT takes a target module of this name for a part of the parameter of all experts."""
    from peft import LoraConfig
    from peft.utils.transformers_weight_conversion import convert_peft_config_for_transformers

    config = LoraConfig(target_modules=[leaf])
    try:
        convert_peft_config_for_transformers(config, model, None)
    except ValueError:
        # It is a part that is only taken together with another.
        return True
    return leaf not in config.target_modules


def has_variant(module: LoraLayer) -> bool:
    """Whether a LoRA layer computes something else than low-rank products, such as DoRA: its public fields
    do not say so."""
    return bool(module.lora_variant)


def pass_on_all_inputs(model: PreTrainedModel) -> None:
    """Makes `model`, with its LoRA, pass on all of its inputs: PEFT's own wrapper for question answering
    leaves out token types and positions."""
    from peft import PeftModel

    if isinstance(model, PeftModel):
        model.forward = MethodType(PeftModel.forward, model)
