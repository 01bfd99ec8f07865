"""The accelerated provider: Unsloth's kernels, on NVIDIA GPUs under Linux."""

from __future__ import annotations

import ctypes
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from trainer.model.targets import check_targets, linear_names
from trainer.protocol.failures import Failure
from trainer.providers.standard import Standard

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from trainer.data.job import Job
    from trainer.model.hardware import Hardware
    from trainer.protocol.contracts import Settings
    from trainer.protocol.model_config import ModelConfig

# The `model_type`s that Unsloth has kernels or patches for (its loader's table and the patches of unsloth_zoo
# 2026.10.7). It compiles others generically, which is untested.
ARCHITECTURES = (
    "cohere",
    "cohere2",
    "falcon_h1",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "glm4_moe",
    "gpt_oss",
    "granite",
    "llama",
    "mistral",
    "mixtral",
    "phi3",
    "qwen2",
    "qwen3",
    "qwen3_moe",
)


class Accelerated:
    """About twice as fast, with a fifth less memory."""

    name = "accelerated"
    label = "Accelerated"
    description = "About 2x faster with 20% less memory, for common architectures on NVIDIA GPUs."
    order = 2
    own_kernels = True
    why_one_worker = "the accelerated provider's kernels are not made for several workers"
    absence = ("unsupported", "Set provider to standard.")

    def availability(self) -> tuple[bool, str | None]:
        """Whether it is available on this machine, and why not; uses the driver's library, not torch."""
        if not sys.platform.startswith("linux"):
            return False, "The accelerated provider runs on Linux, WSL 2 and Docker only; use standard here."
        try:
            driver = ctypes.CDLL("libcuda.so.1")
        except OSError:
            return (
                False,
                "The accelerated provider needs an NVIDIA GPU with its driver, and there is none here.",
            )
        count = ctypes.c_int(0)
        if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
            return False, "The NVIDIA driver is there, but it shows no usable GPU."
        if find_spec("unsloth") is None:
            return False, "The package unsloth is not installed in trainer/.venv; `npm start` adds it."
        return True, None

    def refuse(self, config: ModelConfig, family: str, settings: Settings) -> None:
        """Failure `unsupported` for a model or settings that it does not support."""
        architecture = (config.get("architectures") or ["unknown"])[0]
        kind = config.get("model_type", "unknown")
        if family != "causal" or kind not in ARCHITECTURES:
            raise Failure(
                "unsupported",
                f"The accelerated provider does not train {architecture} ({kind}).",
                f"Set provider to standard, or choose a model of: {', '.join(ARCHITECTURES)}.",
                f"config.json: architectures {config.get('architectures')}, model_type {kind}",
            )
        if settings.adapter == "full":
            raise Failure(
                "unsupported",
                "The accelerated provider trains adapters only, not all weights.",
                "Set adapter to lora, or provider to standard.",
            )
        if settings.target_experts:
            raise Failure(
                "unsupported",
                "The accelerated provider does not train experts (target_experts).",
                "Leave target_experts out, or set provider to standard.",
            )
        if settings.max_seq_length <= 0:
            raise Failure(
                "unsupported",
                "The accelerated provider needs a fixed max_seq_length, and "
                f"{settings.max_seq_length} asks for an inferred one.",
                "Set max_seq_length to 512, 1024, 2048, 4096 or 8192.",
            )
        if settings.device not in ("auto", "cuda"):
            raise Failure(
                "unsupported",
                f"The accelerated provider trains on an NVIDIA GPU, and device is {settings.device}.",
                "Set device to auto, or provider to standard.",
            )

    def prepare(self, job: Job) -> None:
        """Imports Unsloth, which patches transformers and TRL and must come before them."""
        os.environ["UNSLOTH_DISABLE_STATISTICS"] = "1"
        os.environ["UNSLOTH_COMPILE_LOCATION"] = str(job.folder / "cache" / "unsloth")
        job.beat_or_stop()
        import unsloth  # noqa: F401

        job.beat_or_stop()

    def tokenizer(self, job: Job) -> PreTrainedTokenizerBase:
        """The model's tokenizer, as the standard provider reads it."""
        return Standard().tokenizer(job)

    def base(self, job: Job, hardware: Hardware, auto_class: str, **options: object) -> PreTrainedModel:
        """The frozen base model, loaded by Unsloth; Failure `unsupported` for any other head."""
        from unsloth import FastLanguageModel

        if auto_class != "AutoModelForCausalLM" or options:
            raise Failure(
                "unsupported",
                f"The accelerated provider trains causal language models only, not {auto_class}.",
                "Set provider to standard.",
            )
        model, _ = FastLanguageModel.from_pretrained(**load_arguments(job, hardware))
        return model

    def adapt(
        self, job: Job, model: PreTrainedModel, task_type: str, also_train: list[str] | None = None
    ) -> PreTrainedModel:
        """`model` with LoRA, initialized with the run's seed."""
        from unsloth import FastLanguageModel

        return FastLanguageModel.get_peft_model(model, **lora_arguments(job, model, also_train))

    def adapt_for_pairs(self, job: Job, model: PreTrainedModel) -> tuple[PreTrainedModel, LoraConfig | None]:
        """`model` with LoRA, and no LoRA configuration for the library."""
        return self.adapt(job, model, "CAUSAL_LM"), None


def load_arguments(job: Job, hardware: Hardware) -> dict[str, object]:
    """The arguments of `FastLanguageModel.from_pretrained`, without any of its defaults."""
    import torch

    settings = job.settings
    return {
        "model_name": str(job.model_dir),
        # Otherwise it downloads a quantized copy of the model from its own account on the hub.
        "use_exact_model_name": True,
        "max_seq_length": settings.max_seq_length,
        "dtype": getattr(torch, hardware.weights),
        "load_in_4bit": settings.use_4bit,
        "load_in_8bit": settings.use_8bit,
        "load_in_16bit": not (settings.use_4bit or settings.use_8bit),
        "full_finetuning": False,
        "use_gradient_checkpointing": _checkpointing(hardware),
        "random_state": settings.seed,
        "trust_remote_code": False,
        "local_files_only": True,
    }


def lora_arguments(
    job: Job, model: PreTrainedModel, also_train: list[str] | None = None
) -> dict[str, object]:
    """The arguments of `FastLanguageModel.get_peft_model`; without `target_modules` all linear layers of
    `model` but its output. Failure `unsupported` when the model does not have the target modules."""
    from trainer.model.hardware import choose

    settings = job.settings
    check_targets(model, settings.target_modules)
    return {
        "r": settings.lora_r,
        "lora_alpha": settings.lora_alpha,
        "use_rslora": settings.adapter == "rslora",
        "lora_dropout": settings.lora_dropout,
        "target_modules": settings.target_modules or linear_names(model),
        "modules_to_save": also_train,
        "bias": "none",
        "use_gradient_checkpointing": _checkpointing(choose(settings, job.config)),
        "random_state": settings.seed,
        "max_seq_length": settings.max_seq_length,
    }


def _checkpointing(hardware: Hardware) -> str | bool:
    """Unsloth's gradient checkpointing, which offloads to RAM, or none."""
    return "unsloth" if hardware.gradient_checkpointing else False
