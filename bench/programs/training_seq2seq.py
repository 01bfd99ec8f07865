"""The peer of encoder-decoder models: a plain transformers script, `python training_seq2seq.py DIR STEPS RATE OUT ROWS`.

It sets only what must be equal for the comparison (data, seed, LoRA, steps, rate); the rest are the defaults of
Seq2SeqTrainer.
Prints the loss of every step, with the tokens and the CPU time of the process so far, and the time of the step.
"""

import json
import sys
import time

from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    set_seed,
)

folder, count, rate, out = (
    sys.argv[1],
    int(sys.argv[2]),
    float(sys.argv[3]),
    sys.argv[4],
)
steps = []


class Watch(TrainerCallback):
    """Records the time of every step when it is logged."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            told = {"loss": logs["loss"], "tokens": int(state.num_input_tokens_seen)}
            steps.append({**told, "cpu_seconds": time.process_time(), "at": time.time()})


tokenizer = AutoTokenizer.from_pretrained(f"{folder}/model")
rows = load_dataset("json", data_files=f"{folder}/rows.jsonl", split="train", cache_dir=f"{out}/cache")
rows = rows.map(
    lambda row: tokenizer(row["input"], text_target=row["output"]),
    remove_columns=["input", "output"],
)
set_seed(42)
model = AutoModelForSeq2SeqLM.from_pretrained(f"{folder}/model")
model = get_peft_model(
    model,
    LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="SEQ_2_SEQ_LM"),
)
trainer = Seq2SeqTrainer(
    model=model,
    args=Seq2SeqTrainingArguments(
        output_dir=out,
        max_steps=count,
        learning_rate=rate,
        seed=42,
        logging_steps=1,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        include_num_input_tokens_seen="non_padding",
    ),
    train_dataset=rows,
    data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
    processing_class=tokenizer,
    callbacks=[Watch()],
)
trainer.train()
print("\n" + json.dumps(steps))
