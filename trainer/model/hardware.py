"""Chooses device, precision and gradient checkpointing for this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.protocol.contracts import Settings
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import BitsAndBytesConfig

    from trainer.protocol.model_config import ModelConfig

# Hidden size from which bfloat16 is faster than float32 on a CPU that multiplies it faster. Tokens per second
# relative to float32, measured with AVX-512 BF16 on AMD: 128: 0.85, 192: 1.2, 256: 1.15, 384: 1.4.
WIDE = 192

# oneDNN, and torch beside it, keep a program, and memory for it, for every shape of a product: each 1,024 of
# them unless told otherwise. Rows without padding have other shapes in every step. With these limits, a
# training of sixteen steps of about 950 tokens took 0.77 to 0.85 of the memory, and no longer.
KEPT_PROGRAMS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128", "LRU_CACHE_CAPACITY": "64"}

CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Hardware:
    """`weights` is the torch dtype of the model's weights, `autocast` that of the computation on a GPU, or
    None."""

    device: str
    weights: str
    autocast: str | None
    gradient_checkpointing: bool


def choose(
    settings: Settings, config: ModelConfig | None = None, cpu_has_bf16: bool | None = None
) -> Hardware:
    """The hardware for `settings` and a model with `config`; Failure `unsupported` when what is requested is
    not available.

    Defaults on a CPU: bfloat16 weights if the processor multiplies them faster and the model is wide enough
    to benefit, otherwise float32; no gradient checkpointing, which only costs time. On a GPU: bfloat16 if
    supported, and gradient checkpointing. Weights that are trained themselves (`adapter: full`,
    `modules_to_save`) are float32 (docs/decisions/0025-master-weights.md). Limits the programs that are kept
    in this process.
    """
    import torch

    # Read at its first product.
    for name, number in KEPT_PROGRAMS.items():
        os.environ.setdefault(name, number)
    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    device = settings.device
    if device == "auto":
        device = next(name for name, there in has.items() if there)
    if not has.get(device, False):
        raise Failure(
            "unsupported",
            f"The device {device} is not available on this machine.",
            "Set device to auto or cpu, or install the driver; `npm run doctor` says what torch sees.",
        )
    if settings.fp16 and device != "cuda":
        raise Failure(
            "unsupported",
            f"fp16 training needs an NVIDIA or AMD GPU; this run is on {device}.",
            "Leave fp16 out: Hone then chooses the precision for the processor.",
        )
    if needs_gpu(settings.optim) and device != "cuda":
        raise Failure(
            "unsupported",
            f"The optimizer {settings.optim} needs an NVIDIA GPU; this run is on {device}.",
            "Set optim to adamw_torch.",
        )
    whole = settings.adapter == "full" or bool(settings.modules_to_save)
    checkpointing = settings.gradient_checkpointing
    if checkpointing is None:
        checkpointing = device == "cuda"
    if device == "cuda":
        half = "float16" if settings.fp16 else None
        if half is None and settings.bf16 is not False:
            half = "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else None
            if half is None and settings.bf16 is None:
                half = "float16"
            if half is None:
                raise Failure(
                    "unsupported",
                    "This GPU does not compute in bfloat16.",
                    "Set bf16 to false or fp16 to true.",
                )
        weights = "float32" if whole else half or "float32"
        return Hardware(device, weights, half, checkpointing)
    if device == "cpu":
        native = multiplies_bf16() if cpu_has_bf16 is None else cpu_has_bf16
        gains = native and width(config or {}) >= WIDE
        half_weights = gains if settings.bf16 is None else settings.bf16
    else:
        half_weights = bool(settings.bf16)
    return Hardware(device, "bfloat16" if half_weights and not whole else "float32", None, checkpointing)


def needs_gpu(optimizer: str) -> bool:
    """Whether an optimizer pages its state between GPU and RAM."""
    return optimizer.startswith("paged_")


def width(config: ModelConfig) -> int:
    """The hidden size in a model's config.json; WIDE when there is none."""
    inner = config.get("text_config") or config
    names = ("hidden_size", "d_model", "n_embd", "dim")
    sizes = (inner.get(name) for name in names)
    return next((size for size in sizes if isinstance(size, int)), WIDE)


def multiplies_bf16(cpu_info: Path = CPU_INFO) -> bool:
    """Whether this processor multiplies bfloat16 faster than float32: with AMX, or with AVX-512 BF16. Read
    from Linux's `cpu_info`.

    Intel's processors since Sapphire Rapids, known by AVX-512 FP16, do so only with AMX, which virtual
    machines often hide: without it, an Emerald Rapids made 80 to 83 GFLOP/s with products of 1,024 tokens in
    bfloat16, and 135 to 142 in float32. Where bfloat16 is emulated, it is slower, too.
    """
    try:
        words = set(cpu_info.read_text(encoding="ascii", errors="ignore").split())
    except OSError:
        return False
    needs_amx = {"GenuineIntel", "avx512_fp16"} <= words
    return "amx_bf16" in words or ("avx512_bf16" in words and not needs_amx)


def quantization(settings: Settings, hardware: Hardware) -> BitsAndBytesConfig | None:
    """The bitsandbytes configuration for `use_4bit` or `use_8bit`, otherwise None."""
    if not settings.use_4bit and not settings.use_8bit:
        return None
    bits = "use_4bit" if settings.use_4bit else "use_8bit"
    if hardware.device == "mps":
        raise Failure(
            "unsupported",
            f"{bits} does not run on Apple GPUs: bitsandbytes has no kernels for them.",
            f"Set {bits} to false, or device to cpu.",
        )
    try:
        import bitsandbytes  # noqa: F401
    except Exception as error:
        raise Failure(
            "dependency_missing",
            f"{bits} needs the package bitsandbytes, which cannot be loaded here.",
            f"Set {bits} to false, or run `npm start` again to repair trainer/.venv.",
            f"{type(error).__name__}: {error}",
        ) from error
    import torch
    from transformers import BitsAndBytesConfig

    if settings.use_8bit:
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=getattr(torch, hardware.weights),
    )
