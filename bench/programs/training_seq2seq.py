"""The peer of encoder-decoder models: transformers' Seq2SeqTrainer; see peer.py."""

from peer import COUNTED, SAME, SEED, folder, lora, rows, train
from peft import get_peft_model
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    set_seed,
)

tokenizer = AutoTokenizer.from_pretrained(f"{folder}/model")
encoded = rows().map(
    lambda row: tokenizer(row["input"], text_target=row["output"]),
    remove_columns=["input", "output"],
)
set_seed(SEED)
model = AutoModelForSeq2SeqLM.from_pretrained(f"{folder}/model")
model = get_peft_model(model, lora("SEQ_2_SEQ_LM"))
train(
    Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(**SAME, **COUNTED),
        train_dataset=encoded,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
    )
)
