"""Models whose weights are stored quantized: which of them can be trained here, and how they are loaded."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from trainer.model.hardware import Hardware, quantization
from trainer.model.quantization import packed
from trainer.protocol.failures import Failure
from trainer.protocol.model_config import ModelConfig, stored_quantization

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from trainer.protocol.contracts import Settings
    from trainer.protocol.model_config import Quantization

# What transformers needs to load weights by `quant_method` of a config.json, as import names (its
# quantizers' `validate_environment`). The first group becomes 16- or 32-bit weights while it is loaded.
DEQUANTIZED = ("fp8", "mxfp8", "mxfp4")
# Those whose weights an adapter is merged into, in a full-precision copy (trainer/export/full_precision.py).
# A training of the methods of `packed` starts from that copy, too.
MERGED = ("bitsandbytes", "fp8", "mxfp4", *packed.FORMS)
PACKAGES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(DEQUANTIZED, ("accelerate",)),
    "bitsandbytes": ("accelerate", "bitsandbytes"),
    **dict.fromkeys(packed.FORMS, ()),
    "hqq": ("hqq",),
    "torchao": ("torchao",),
    "aqlm": ("aqlm",),
    "auto-round": ("auto_round",),
    "vptq": ("vptq",),
}


def without_quantization(config: ModelConfig) -> ModelConfig:
    """A config.json as that of the full-precision model."""
    kept = config.copy()
    kept.pop("quantization_config", None)
    kept.pop("compression_config", None)
    if isinstance(kept.get("text_config"), dict):
        kept["text_config"] = without_quantization(kept["text_config"])
    return kept


def method_of(config: ModelConfig) -> str | None:
    """The method of `stored_quantization`: the names of PACKAGES, or another one; None for plain weights."""
    found = stored_quantization(config)
    if found is None:
        return None
    if found.get("load_in_4bit") or found.get("load_in_8bit"):
        return "bitsandbytes"
    return str(found.get("quant_method") or "unknown")


def bits_of(config: ModelConfig) -> int:
    """The bits of a stored weight of a quantized model, the least of its layers'."""
    found = stored_quantization(config) or {}
    method = method_of(config)
    if method in packed.FORMS:
        return min(packed.bits_of(found))
    return 8 if found.get("load_in_8bit") or method in ("fp8", "mxfp8") else 4


def is_unpacked(config: ModelConfig) -> bool:
    """Whether a training of the model with this config.json starts from a full-precision copy."""
    return method_of(config) in packed.FORMS


def why_not(method: str, stored: Quantization | None = None) -> str | None:
    """Why weights that are stored by `method`, as the model's `stored` quantization says, cannot be trained
    here; None when they can."""
    if method not in PACKAGES:
        return f"its weights are stored quantized ({method}), in a form that is for answering only"
    if method in packed.FORMS:
        found = [] if stored is None else packed.forms(stored)
        unknown = [form for form in found if form not in packed.FORMS[method]]
        if not unknown:
            return None
        forms, known = ", ".join(unknown), ", ".join(packed.FORMS[method])
        return f"its weights are stored quantized ({method}) in the form {forms}; Hone reads {known}"
    absent = [name for name in PACKAGES[method] if find_spec(name) is None]
    if not absent:
        return None
    return (
        f"its weights are stored quantized ({method}), and the package that reads them is not installed: "
        f"{', '.join(absent)}"
    )


def methods() -> dict[str, dict[str, object]]:
    """Each known method for the service: why it cannot be trained here, whether it is dequantized for that,
    the forms of it that are read (`packed.forms`; None for those that have none), and whether an adapter of
    such a model becomes a GGUF."""
    return {
        name: {
            "reason": why_not(name),
            "dequantized": name in DEQUANTIZED or name in packed.FORMS,
            "forms": packed.FORMS.get(name),
            "merged": name in MERGED,
        }
        for name in PACKAGES
    }


def refuse(config: ModelConfig, settings: Settings) -> None:
    """Failure `dependency_missing` or `unsupported` for a model whose weights are stored in a way that cannot
    be loaded or trained here, or that `settings` would quantize a second time."""
    method = method_of(config)
    if method is None:
        return
    reason = why_not(method, stored_quantization(config))
    if reason is not None:
        code = "dependency_missing" if PACKAGES.get(method) else "unsupported"
        advice = "Choose the 16-bit version of the model, from which it was made."
        raise Failure(code, f"The model cannot be trained here: {reason}.", advice)
    wanted = "use_4bit" if settings.use_4bit else "use_8bit" if settings.use_8bit else None
    stored = stored_quantization(config) or {}
    if wanted and not (method == "bitsandbytes" and stored.get(wanted.replace("use", "load_in"))):
        raise Failure(
            "unsupported",
            f"{wanted} would quantize weights a second time: they are stored quantized ({method}).",
            f"Leave {wanted} out, or choose the 16-bit version of the model.",
        )


def load_arguments(config: ModelConfig, settings: Settings, hardware: Hardware) -> dict[str, object]:
    """The arguments of `from_pretrained` for quantization; nothing where the files or the library decide.

    An explicit None would make transformers forget what config.json says, and take codes for weights.
    """
    method = method_of(config)
    if method in DEQUANTIZED:
        import transformers

        # Where a GPU could compute with them as they are, they could not be trained.
        kind = transformers.Mxfp4Config if method == "mxfp4" else transformers.FineGrainedFP8Config
        return {"quantization_config": kind(dequantize=True)}
    if method is not None:
        return {}
    wanted = quantization(settings, hardware)
    return {} if wanted is None else {"quantization_config": wanted}


def check_trainable(model: PreTrainedModel) -> None:
    """Failure `unsupported` for a loaded model whose quantized layers have no gradient."""
    quantizer = getattr(model, "hf_quantizer", None)
    if quantizer is None or getattr(quantizer.quantization_config, "dequantize", False):
        return
    if not quantizer.is_trainable:
        raise Failure(
            "unsupported",
            f"Weights stored quantized ({quantizer.quantization_config.quant_method.value}) can answer, but "
            "have no gradient to train with.",
            "Choose the 16-bit version of the model, from which it was made.",
        )
