"""The peer of rlhf's policy: TRL's RLOOTrainer, with the shape `policy-float32` in float32; see peer.py. Its answers are those
of scripted_answers.py."""

import torch
from peer import SAME, SEED, folder, lora, rows, shape, train
from scripted_answers import Script, told_of_step
from transformers import AutoTokenizer, set_seed
from trl import RLOOConfig, RLOOTrainer

script = Script(folder, AutoTokenizer.from_pretrained(f"{folder}/model"))
draw = torch.multinomial


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


asked = (
    rows()
    .map(lambda row: {"prompt": row["prompt"] + "\n###\n"})
    .select_columns(["prompt"])
)
set_seed(SEED)  # LoRA is initialized before the trainer sets the seed
trainer = Scripted(
    model=f"{folder}/model",
    reward_funcs=f"{folder}/judge",
    args=RLOOConfig(
        **SAME,
        **({"bf16": False} if shape == "policy-float32" else {}),
        num_generations=script.copies,
        max_completion_length=script.longest,
    ),
    train_dataset=asked,
    peft_config=lora("CAUSAL_LM"),
)
train(trainer, told_of_step)
