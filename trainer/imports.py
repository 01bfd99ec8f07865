"""Imports for a training in a fresh process: only packages that it uses, and no garbage collection meanwhile.

Nearly all of the time until the first step of a small model is spent importing. `bench/LOG.md` tells what
each of these parts costs.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from trainer.protocol.model_config import stored_quantization

if TYPE_CHECKING:
    from trainer.protocol.contracts import Spec
    from trainer.protocol.model_config import ModelConfig

# Optimizers of torch and transformers; the others may be those of bitsandbytes.
OWN_OPTIMIZERS = ("adamw_torch", "adamw_torch_fused", "adafactor", "sgd", "adagrad", "rmsprop")

# Devices of NVIDIA's and AMD's drivers, and of Windows' in WSL 2.
GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")

# What libraries import where it can be found: for files of the web, and to print tables.
UNUSED = ("aiohttp", "rich")
FOR_GPUS = ("cuda", "triton")
FOR_QUANTIZATION = ("bitsandbytes",)

_begun = False


def begin() -> None:
    """Suspends garbage collection: the thousands of modules that follow are all kept. For a process that
    trains once and ends."""
    global _begun
    _begun = True
    gc.disable()


def spare(spec: Spec, config: ModelConfig) -> None:
    """Keeps a process that `begin` was called in from importing packages that a training by `spec` does not
    use; `config` is that of its model. torch must not be imported yet."""
    if not _begun or "torch" in sys.modules:
        return
    unused = [*UNUSED]
    if spec.settings.device == "cpu" or not any(map(os.path.exists, GPUS)):
        unused += FOR_GPUS
    if not _quantizes(spec, config):
        unused += FOR_QUANTIZATION
    for name in unused:
        # Python's way to say that there is no such module.
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def end() -> None:
    """Collects garbage from now on, except among what was imported: it is kept anyway."""
    global _begun
    if _begun:
        _begun = False
        gc.freeze()
        gc.enable()


def _quantizes(spec: Spec, config: ModelConfig) -> bool:
    settings = spec.settings
    return (
        settings.use_4bit
        or settings.use_8bit
        or spec.strategy == "qlora"
        or settings.optim not in OWN_OPTIMIZERS
        or stored_quantization(config) is not None
        or settings.reward_model is not None
    )
