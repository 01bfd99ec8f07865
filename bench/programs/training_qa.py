"""The peer of encoders that answer questions: `python training_qa.py DIR STEPS RATE OUT ROWS`.

It prepares rows as transformers' example run_qa does by default: windows of 384 tokens that overlap by 128, padded to 384.
It sets only what must be equal for the comparison (data, seed, LoRA, steps, rate); the rest are the defaults of Trainer.
The model's own loss counts padding as possible answers, so that it depends on the padding; here it does not.
Prints the loss of every step, with the tokens and the CPU time of the process so far, and the time of the step.
"""

import json
import sys
import time

import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
    set_seed,
)

folder, count, rate, out = (
    sys.argv[1],
    int(sys.argv[2]),
    float(sys.argv[3]),
    sys.argv[4],
)
LENGTH, STRIDE = 384, 128
SIDES = ("start", "end")
steps = []


class Watch(TrainerCallback):
    """Records the time of every step when it is logged."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            told = {"loss": logs["loss"], "tokens": int(state.num_input_tokens_seen)}
            steps.append({**told, "cpu_seconds": time.process_time(), "at": time.time()})


class SpanTrainer(Trainer):
    """Gives no probability to padding."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        padding = inputs["attention_mask"] == 0
        losses = [
            torch.nn.functional.cross_entropy(
                outputs[f"{side}_logits"].masked_fill(padding, float("-inf")), inputs[f"{side}_positions"]
            )
            for side in SIDES
        ]
        return (sum(losses) / 2, outputs) if return_outputs else sum(losses) / 2


tokenizer = AutoTokenizer.from_pretrained(f"{folder}/model")


def features(row: dict) -> dict:
    """The window of a row, which fits into one, with the positions of its answer."""
    encoded = tokenizer(
        row["question"],
        row["context"],
        truncation="only_second",
        max_length=LENGTH,
        stride=STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        padding="max_length",
    )
    (places,) = encoded.pop("offset_mapping")
    encoded.pop("overflow_to_sample_mapping")
    parts = encoded.sequence_ids(0)
    start = row["context"].index(row["answer"])
    end = start + len(row["answer"])
    context = [at for at, (low, high) in enumerate(places) if parts[at] == 1 and high > low]
    made = {name: values[0] for name, values in encoded.items()}
    made["start_positions"] = next(at for at in context if places[at][0] <= start < places[at][1])
    made["end_positions"] = next(at for at in context if places[at][0] < end <= places[at][1])
    return made


rows = load_dataset("json", data_files=f"{folder}/rows.jsonl", split="train", cache_dir=f"{out}/cache")
rows = rows.map(features, remove_columns=rows.column_names)
set_seed(42)
model = AutoModelForQuestionAnswering.from_pretrained(f"{folder}/model")
set_seed(42)  # as Hone does before LoRA is initialized
model = get_peft_model(
    model,
    LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules="all-linear",
        modules_to_save=["qa_outputs"],
        task_type="QUESTION_ANS",
    ),
)
trainer = SpanTrainer(
    model=model,
    args=TrainingArguments(
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
    data_collator=default_data_collator,
    processing_class=tokenizer,
    callbacks=[Watch()],
)
trainer.train()
print("\n" + json.dumps(steps))
