"""The training request's own fields. `npm run generate` writes this file from `src/contract/`."""

from __future__ import annotations

import msgspec


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The training request's own fields. One with a default may be absent: some job folders are older."""

    num_train_epochs: float
    learning_rate: float
    per_device_train_batch_size: int
    gradient_accumulation_steps: int
    max_seq_length: int
    lora_r: int
    eval_split: float
    reward_model: str | None
    beta: float = 0.1
    loss_type: str = "sigmoid"
    label_smoothing: float = 0
    sft_weight: float = 0
    graders: list[dict[str, object]] | None = None
    group_size: int | None = None
    kl_beta: float = 0.04
    max_answer_tokens: int = 256
    response_format: dict[str, object] | None = None
    teacher: str | None = None
    teacher_top_k: int = 64
    distill_beta: float = 0
    distill_temperature: float = 1
    label_share: float = 0
    max_steps: int
    eval_steps: int | None
    per_device_eval_batch_size: int
    early_stopping_patience: int | None
    keep_best: bool
    golden_prompts: list[str | dict[str, object]] | None
    optim: str
    lr_scheduler_type: str
    warmup_ratio: float
    weight_decay: float
    max_grad_norm: float
    seed: int
    adapter: str = "lora"
    lora_alpha: float
    lora_dropout: float
    target_modules: list[str] | None
    target_experts: bool = False
    modules_to_save: list[str] | None = None
    new_tokens: list[str] | None = None
    use_4bit: bool
    use_8bit: bool
    bf16: bool | None
    fp16: bool | None
    gradient_checkpointing: bool | None
    packing: bool
    device: str
    workers: int = 1
    use_chat_template: bool | None
    thinking: str | None = "off"
    tool_syntax: str = "template"
    save_steps: int | None
    save_total_limit: int
