"""The peer of encoders that answer questions: transformers' Trainer; see peer.py.

It prepares rows as transformers' example run_qa does by default: windows of 384 tokens that overlap by 128, padded to 384.
The model's own loss counts padding as possible answers, so that it depends on the padding; here it does not.
"""

import torch
from peer import COUNTED, SAME, SEED, folder, lora, rows, train
from peft import get_peft_model
from transformers import (
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)

LENGTH, STRIDE = 384, 128
SIDES = ("start", "end")


class SpanTrainer(Trainer):
    """Gives no probability to padding."""

    def compute_loss(
        self, model, inputs, return_outputs=False, num_items_in_batch=None
    ):
        outputs = model(**inputs)
        padding = inputs["attention_mask"] == 0
        losses = [
            torch.nn.functional.cross_entropy(
                outputs[f"{side}_logits"].masked_fill(padding, float("-inf")),
                inputs[f"{side}_positions"],
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
    context = [
        at for at, (low, high) in enumerate(places) if parts[at] == 1 and high > low
    ]
    made = {name: values[0] for name, values in encoded.items()}
    made["start_positions"] = next(
        at for at in context if places[at][0] <= start < places[at][1]
    )
    made["end_positions"] = next(
        at for at in context if places[at][0] < end <= places[at][1]
    )
    return made


given = rows()
given = given.map(features, remove_columns=given.column_names)
set_seed(SEED)
model = AutoModelForQuestionAnswering.from_pretrained(f"{folder}/model")
set_seed(SEED)  # as Hone does before LoRA is initialized
model = get_peft_model(model, lora("QUESTION_ANS", modules_to_save=["qa_outputs"]))
train(
    SpanTrainer(
        model=model,
        args=TrainingArguments(**SAME, **COUNTED),
        train_dataset=given,
        data_collator=default_data_collator,
        processing_class=tokenizer,
    )
)
