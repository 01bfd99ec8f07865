"""The peer of the training bench: a plain TRL script, `python training_trl.py DIR STEPS RATE OUT SHAPE`.

It sets only what must be equal for the comparison (data, seed, LoRA, steps, rate, and for conversations that only
answers are learned); the rest are TRL's defaults. With the shape `preference` it trains with DPO, else with SFT;
with `quantized` the base is in 4 bits.
Prints the loss of every step (of pairs, the margin too), with the tokens, the CPU time of the process and the memory of
the GPU so far, and the time of the step. On a GPU with BENCH_DEVICE=cuda.
"""

import json
import os
import sys
import time

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import BitsAndBytesConfig, TrainerCallback, set_seed
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

folder, count, rate, out, shape = (
    sys.argv[1],
    int(sys.argv[2]),
    float(sys.argv[3]),
    sys.argv[4],
    sys.argv[5],
)
device = os.environ.get("BENCH_DEVICE", "cpu")
steps = []


class Watch(TrainerCallback):
    """Records the time of every step when it is logged."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            told = {"loss": logs["loss"], "tokens": int(logs["num_tokens"])}
            if "rewards/margins" in logs:
                told["margin"] = logs["rewards/margins"]
            if device == "cuda":
                told["memory"] = torch.cuda.max_memory_reserved()
            steps.append({**told, "cpu_seconds": time.process_time(), "at": time.time()})


def four_bits() -> BitsAndBytesConfig:
    """The usual configuration of QLoRA."""
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def ask(row: dict) -> dict:
    """The row in TRL's format."""
    return {"prompt": row["input"] + "\n###\n", "completion": row["output"]}


def ask_pair(row: dict) -> dict:
    """The pair in TRL's format."""
    return {**row, "prompt": row["prompt"] + "\n###\n"}


rows = load_dataset("json", data_files=f"{folder}/rows.jsonl", split="train", cache_dir=f"{out}/cache")
if shape in ("input-output", "quantized"):
    rows = rows.map(ask, remove_columns=["input", "output"])
if shape == "preference":
    rows = rows.map(ask_pair)
configuration, trainer_class = (DPOConfig, DPOTrainer) if shape == "preference" else (SFTConfig, SFTTrainer)
set_seed(42)  # LoRA is initialized before the trainer sets the seed
trainer = trainer_class(
    model=f"{folder}/model",
    args=configuration(
        output_dir=out,
        max_steps=count,
        learning_rate=rate,
        seed=42,
        logging_steps=1,
        use_cpu=device == "cpu",
        report_to="none",
        save_strategy="no",
        **({"assistant_only_loss": True} if shape == "messages" else {}),
        **({"model_init_kwargs": {"quantization_config": four_bits()}} if shape == "quantized" else {}),
    ),
    train_dataset=rows,
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    callbacks=[Watch()],
)
trainer.train()
print("\n" + json.dumps(steps))
