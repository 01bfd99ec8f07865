"""What a plain script of transformers, PEFT and TRL computes: the measure of a training's losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def stock(
    model: Path,
    rows: list[dict],
    folder: Path,
    targets: Any = "all-linear",
    r: int = 16,
    kind: dict[str, bool] | None = None,
    start: Path | None = None,
    **settings: Any,
) -> list[tuple[float, int]]:
    """The loss and the tokens so far of each step of such a script, whose loss is the model's own, whose
    prompts end and whose LoRA begins as ours do; `kind` are options of LoraConfig, and None of `targets`
    trains all weights. With `start` it goes on from the adapter in this folder. What it trained is saved in
    `folder/adapter`."""
    from datasets import Dataset
    from peft import LoraConfig, PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
    from trl import SFTConfig, SFTTrainer

    set_seed(settings["seed"])
    data = [{"prompt": row["input"] + "\n###\n", "completion": row["output"]} for row in rows]
    begun: Any = str(model)
    if start is not None:
        base = AutoModelForCausalLM.from_pretrained(model, dtype="float32")
        begun = PeftModel.from_pretrained(base, start, is_trainable=True)
    trainer = SFTTrainer(
        model=begun,
        processing_class=None if start is None else AutoTokenizer.from_pretrained(model),
        args=SFTConfig(
            output_dir=str(folder),
            report_to="none",
            logging_steps=1,
            save_strategy="no",
            loss_type="nll",
            router_aux_loss_coef=0.0,
            **settings,
        ),
        train_dataset=Dataset.from_list(data),
        peft_config=None
        if targets is None or start is not None
        else LoraConfig(r=r, lora_alpha=2 * r, target_modules=targets, task_type="CAUSAL_LM", **(kind or {})),
    )
    trainer.train()
    trainer.model.save_pretrained(folder / "adapter")
    return [(log["loss"], int(log["num_tokens"])) for log in trainer.state.log_history if "loss" in log]
