"""The peer of the training bench: TRL's SFTTrainer, and with the shape `preference` its DPOTrainer; see peer.py.

With `preference-float32` it computes in float32, with `quantized` the base is in 4 bits, with `all-weights` there is no LoRA. For
conversations only answers are learned.
"""

import torch
from peer import SAME, SEED, folder, lora, rows, shape, train
from transformers import BitsAndBytesConfig, set_seed
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer


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


given = rows()
if shape in ("input-output", "quantized", "all-weights"):
    given = given.map(ask, remove_columns=["input", "output"])
pairs = shape.startswith("preference")
if pairs:
    given = given.map(ask_pair)
configuration, trainer_class = (
    (DPOConfig, DPOTrainer) if pairs else (SFTConfig, SFTTrainer)
)
set_seed(SEED)  # LoRA is initialized before the trainer sets the seed
train(
    trainer_class(
        model=f"{folder}/model",
        args=configuration(
            **SAME,
            **({"assistant_only_loss": True} if shape == "messages" else {}),
            **({"bf16": False} if shape == "preference-float32" else {}),
            **(
                {"model_init_kwargs": {"quantization_config": four_bits()}}
                if shape == "quantized"
                else {}
            ),
        ),
        train_dataset=given,
        peft_config=None if shape == "all-weights" else lora("CAUSAL_LM"),
    )
)
