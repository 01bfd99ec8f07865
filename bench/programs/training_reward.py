"""The peer of rlhf's reward model: TRL's RewardTrainer, with the shape `judged-float32` in float32; see peer.py."""

from peer import SAME, SEED, folder, lora, rows, shape, train
from peft import get_peft_model
from transformers import AutoModelForSequenceClassification, AutoTokenizer, set_seed
from trl import RewardConfig, RewardTrainer

given = rows().map(lambda row: {**row, "prompt": row["prompt"] + "\n###\n"})
set_seed(SEED)
model = AutoModelForSequenceClassification.from_pretrained(
    f"{folder}/model", num_labels=1
)
set_seed(SEED)  # as Hone does before LoRA is initialized
train(
    RewardTrainer(
        model=get_peft_model(model, lora("SEQ_CLS", modules_to_save=["score"])),
        args=RewardConfig(
            **SAME, **({"bf16": False} if shape == "judged-float32" else {})
        ),
        train_dataset=given,
        processing_class=AutoTokenizer.from_pretrained(f"{folder}/model"),
    )
)
