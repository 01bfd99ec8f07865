"""What there is and what of it runs here, without importing torch."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.engines.choose import engines, why_one_worker
from trainer.libraries.versions import PACKAGES, versions
from trainer.model import text_part
from trainer.model.check import model_types
from trainer.model.hardware import WIDE, multiplies_bf16
from trainer.model.quantization import quantized
from trainer.registry import find_all
from trainer.training.disk_budget import state_bytes

if TYPE_CHECKING:
    from trainer.data.job import Provider, Strategy, Task

# Optimizers of the training library that need a package (by import name) beyond the pinned ones, or a
# setting that the training request has not.
OPTIMIZER_NEEDS = {
    "adamw_torch_xla": "torch_xla",
    "adamw_torch_npu_fused": "torch_npu",
    "adamw_anyprecision": "torchdistx",
    "adamw_torch_4bit": "torchao",
    "adamw_torch_8bit": "torchao",
    "grokadamw": "grokadamw",
    "schedule_free_radam": "schedulefree",
    "schedule_free_adamw": "schedulefree",
    "schedule_free_sgd": "schedulefree",
    "stable_adamw": "torch_optimi",
    "lomo": "lomo_optim",
    "adalomo": "lomo_optim",
}
OPTIMIZER_NEEDS_BY_WORD = {
    "bnb": "bitsandbytes",
    "8bit": "bitsandbytes",
    "32bit": "bitsandbytes",
    "ademamix": "bitsandbytes",
    "galore": "galore_torch",
    "apollo": "apollo_torch",
}


def describe(converter: str | None) -> dict[str, object]:
    """The answer of `python -m trainer describe`; `converter` is the folder of llama.cpp's converter."""
    tasks, strategies, providers = find_all("task"), find_all("strategy"), find_all("provider")
    available = {name: kind().availability() for name, kind in providers.items()}
    optimizer_names = optimizers()
    return {
        "tasks": [
            {
                **_words(task),
                "row_shape": task.row_shapes[0],
                "row_shapes": list(task.row_shapes),
                "metrics": list(task.metrics),
            }
            for task in tasks.values()
        ],
        "strategies": [
            {**_words(strategy), "row_shape": strategy.row_shape, "tasks": list(strategy.tasks)}
            for strategy in strategies.values()
        ],
        "providers": [
            {**_words(provider), "available": available[name][0], "reason": available[name][1]}
            for name, provider in providers.items()
        ],
        "engines": engines(),
        "combinations": [
            {
                "task": task,
                "strategy": name,
                "provider": provider,
                "model_types": model_types(tasks[task](), strategy()),
                "why_one_worker": why_one_worker(strategy, providers[provider]),
            }
            for name, strategy in strategies.items()
            for task in tasks
            if task in strategy.tasks
            for provider in providers
            if provider in strategy.providers
        ],
        "export_architectures": export_architectures(converter),
        "causal_classes": text_part.causal_classes(),
        "quantizations": quantized.methods(),
        "text_parts": {"architectures": text_part.architectures(), "model_types": text_part.kinds()},
        "lr_scheduler_types": lr_scheduler_types(),
        "optimizers": optimizer_names,
        "optimizer_state_bytes": {name: state_bytes(name) for name in optimizer_names},
        # The smallest hidden size that trains in bfloat16 on this processor, None where none does.
        "bfloat16_from_width": WIDE if multiplies_bf16() else None,
        "versions": versions(PACKAGES),
    }


def _words(kind: type[Task] | type[Strategy] | type[Provider]) -> dict[str, str]:
    """The name of a task, strategy or provider, its label, and what it is in a sentence."""
    return {"name": kind.name, "label": kind.label, "description": kind.description}


def export_architectures(converter: str | None) -> list[str]:
    """The architectures that can become a GGUF; empty when the converter is not there."""
    if converter is None or not Path(converter).is_dir():
        return []
    from trainer.model.architectures import supported

    return supported(converter)


def lr_scheduler_types() -> list[str]:
    """The values of transformers' SchedulerType."""
    return _enumeration("trainer_utils.py", "SchedulerType")


def optimizers() -> list[str]:
    """The values of transformers' OptimizerNames that the installed packages can make."""
    names = _enumeration("training_args.py", "OptimizerNames")
    return [name for name in names if all(find_spec(module) is not None for module in _needs(name))]


def _needs(optimizer: str) -> set[str]:
    """The import names that `optimizer` needs beyond torch."""
    needs = {module for word, module in OPTIMIZER_NEEDS_BY_WORD.items() if word in optimizer}
    if optimizer in OPTIMIZER_NEEDS:
        needs = {OPTIMIZER_NEEDS[optimizer]}
    return needs


def _enumeration(file: str, name: str) -> list[str]:
    """The values of the enumeration `name`, read from the source: importing transformers imports torch."""
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        return []
    tree = ast.parse((Path(spec.origin).parent / file).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    assignments = [node for body in classes for node in body.body if isinstance(node, ast.Assign)]
    return [ast.literal_eval(node.value) for node in assignments]
