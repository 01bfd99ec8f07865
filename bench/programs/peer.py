"""What the plain scripts of the library share: `python training_KIND.py DIR STEPS RATE OUT SHAPE`.

They train the rows of DIR on the model that lies there, of a SHAPE of training_inputs.py, and set only what must be equal for
the comparison: data, seed, LoRA, steps and rate. The rest are the defaults of their trainer class. They run on a GPU with
BENCH_DEVICE=cuda, and write to OUT.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from datasets import Dataset, load_dataset
from peft import LoraConfig
from transformers import Trainer, TrainerCallback

folder, steps, rate, out, shape = sys.argv[1:6]
device = os.environ.get("BENCH_DEVICE", "cpu")
SEED = 42
# Arguments that every trainer class takes.
SAME = {
    "output_dir": out,
    "max_steps": int(steps),
    "learning_rate": float(rate),
    "seed": SEED,
    "logging_steps": 1,
    "use_cpu": device == "cpu",
    "report_to": "none",
    "save_strategy": "no",
}
# TRL has its own count of tokens.
COUNTED = {"include_num_input_tokens_seen": "non_padding"}


def lora(task_type: str, **others: Any) -> LoraConfig:
    """The LoRA of both sides."""
    return LoraConfig(
        r=16, lora_alpha=32, target_modules="all-linear", task_type=task_type, **others
    )


def rows() -> Dataset:
    """The rows of DIR."""
    return load_dataset(
        "json",
        data_files=f"{folder}/rows.jsonl",
        split="train",
        cache_dir=f"{out}/cache",
    )


def told_of_loss(logs: dict[str, Any]) -> dict[str, float]:
    """The loss of a step, and of pairs the margin."""
    margin = logs.get("rewards/margins", logs.get("margin"))
    return {"loss": logs["loss"], **({} if margin is None else {"margin": margin})}


def train(
    trainer: Trainer, told: Callable[[dict[str, Any]], dict[str, float]] = told_of_loss
) -> None:
    """Trains, and prints what `told` makes of the logs of every step, with the tokens and the CPU time of the process so far,
    the time of the step and on a GPU the memory so far."""
    found = []

    class Watch(TrainerCallback):
        """Records every step when it is logged."""

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any
        ) -> None:
            if "loss" not in logs:
                return
            step = {
                **told(logs),
                "tokens": int(logs.get("num_tokens", state.num_input_tokens_seen)),
            }
            if device == "cuda":
                step["memory"] = torch.cuda.max_memory_reserved()
                step["allocated"] = torch.cuda.max_memory_allocated()
            found.append(
                {**step, "cpu_seconds": time.process_time(), "at": time.time()}
            )

    trainer.add_callback(Watch())
    trainer.train()
    print("\n" + json.dumps(found))
