"""The peer of rlhf's policy: a plain TRL script, `python training_rloo.py DIR STEPS RATE OUT ROWS`.

It sets only what must be equal for the comparison (data, seed, LoRA, steps, rate, answers per prompt and their longest
length) and the reward model of DIR; the rest are TRL's defaults. Its answers are those of scripted_answers.py.
Prints what scripted_answers.py tells of every step, with the tokens and the CPU time of the process so far, and the time
of the step.
"""

import json
import sys
import time

import torch
from datasets import load_dataset
from peft import LoraConfig
from scripted_answers import Script, told_of_step
from transformers import AutoTokenizer, TrainerCallback, set_seed
from trl import RLOOConfig, RLOOTrainer

folder, count, rate, out = (
    sys.argv[1],
    int(sys.argv[2]),
    float(sys.argv[3]),
    sys.argv[4],
)
steps = []
tokenizer = AutoTokenizer.from_pretrained(f"{folder}/model")
script = Script(folder, tokenizer)
draw = torch.multinomial


class Watch(TrainerCallback):
    """Records the time of every step when it is logged."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            told = {**told_of_step(logs), "tokens": int(logs["num_tokens"])}
            steps.append({**told, "cpu_seconds": time.process_time(), "at": time.time()})


class Scripted(RLOOTrainer):
    """Draws every token, and then writes that of the script."""

    def _generate_single_turn(self, prompt_ids, images, multimodal_fields):
        answers = script.answers(prompt_ids)
        place = -1

        def scripted(shares, num_samples):
            nonlocal place
            place += 1
            drawn = draw(shares, num_samples)
            for row, answer in enumerate(answers):
                if place < len(answer):
                    drawn[row, 0] = answer[place]
            return drawn

        torch.multinomial = scripted
        try:
            return super()._generate_single_turn(prompt_ids, images, multimodal_fields)
        finally:
            torch.multinomial = draw


rows = load_dataset("json", data_files=f"{folder}/rows.jsonl", split="train", cache_dir=f"{out}/cache")
rows = rows.map(lambda row: {"prompt": row["prompt"] + "\n###\n"}).select_columns(["prompt"])
set_seed(42)  # LoRA is initialized before the trainer sets the seed
trainer = Scripted(
    model=f"{folder}/model",
    reward_funcs=f"{folder}/judge",
    args=RLOOConfig(
        output_dir=out,
        max_steps=count,
        learning_rate=rate,
        seed=42,
        logging_steps=1,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        num_generations=script.copies,
        max_completion_length=script.longest,
    ),
    train_dataset=rows,
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    callbacks=[Watch()],
)
trainer.train()
print("\n" + json.dumps(steps))
