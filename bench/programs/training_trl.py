"""The peer of the training bench: a plain TRL script, `python training_trl.py DIR STEPS RATE OUT`.

It sets what the comparison needs equal (data, seed, LoRA, steps, rate) and leaves the rest as TRL has it.
Prints, for every step, its loss, the tokens so far, the process's own processor time so far, and when it was.
"""

import json
import sys
import time

from datasets import load_dataset
from peft import LoraConfig
from transformers import TrainerCallback, set_seed
from trl import SFTConfig, SFTTrainer

folder, count, rate, out = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
steps = []


class Watch(TrainerCallback):
    """Notes the time of every step as it is logged."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            told = {"loss": logs["loss"], "tokens": int(logs["num_tokens"])}
            steps.append({**told, "cpu_seconds": time.process_time(), "at": time.time()})


def ask(row: dict) -> dict:
    """The row as TRL wants it."""
    return {"prompt": row["input"] + "\n###\n", "completion": row["output"]}


rows = load_dataset("json", data_files=f"{folder}/rows.jsonl", split="train", cache_dir=f"{out}/cache")
set_seed(42)  # LoRA begins before the trainer sets it
trainer = SFTTrainer(
    model=f"{folder}/model",
    args=SFTConfig(
        output_dir=out,
        max_steps=count,
        learning_rate=rate,
        seed=42,
        logging_steps=1,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
    ),
    train_dataset=rows.map(ask, remove_columns=["input", "output"]),
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    callbacks=[Watch()],
)
trainer.train()
print("\n" + json.dumps(steps))
