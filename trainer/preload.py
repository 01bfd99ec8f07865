"""Imports libraries before there is a job, in a process that is forked for each one."""

from __future__ import annotations

import gc
import importlib
import os
import sys

# What a run imports inside functions, with the most common architectures.
LIBRARIES = (
    "datasets",
    "peft",
    "psutil",
    "safetensors.torch",
    "torch.utils.tensorboard",
    "transformers",
    "transformers.models.auto.modeling_auto",
    "transformers.models.gemma3.modeling_gemma3",
    "transformers.models.llama.modeling_llama",
    "transformers.models.qwen3.modeling_qwen3",
    "trl",
    "trl.trainer.sft_trainer",
)

# Keeps numpy's BLAS and Arrow's memory pool from starting threads on import, which a fork would lack.
SINGLE_THREADED = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}


def load(modules: tuple[str, ...]) -> bool:
    """Imports `modules`. False when forking is not safe."""
    os.environ.update(SINGLE_THREADED)
    # What is imported stays; looking for garbage in it meanwhile would take a fifth of the time.
    gc.disable()
    for name in modules:
        importlib.import_module(name)
    importlib.import_module("trainer.libraries.transformers").prepare_loading()
    if len(os.listdir("/proc/self/task")) > 1:
        print("A library started a thread on import, so forking is not safe.", file=sys.stderr)
        return False
    # Otherwise a garbage collection in a fork touches, and so copies, every page.
    gc.collect()
    gc.freeze()
    gc.enable()
    return True


def set_threads(before: str | None, wanted: str | None) -> None:
    """Sets what torch has read from the environment when it was imported."""
    if wanted is not None and wanted != before:
        import torch

        torch.set_num_threads(int(wanted))
