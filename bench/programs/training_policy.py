"""The peer of rlhf's policy and of grpo: TRL's RLOOTrainer, and with a shape of groups its GRPOTrainer; see peer.py. With
`policy-float32` it computes in float32. Its answers are those of scripted_answers.py."""

import torch
from peer import SAME, SEED, folder, lora, rows, shape, train
from rapidfuzz import fuzz
from scripted_answers import Script, told_of_step
from transformers import AutoTokenizer, set_seed
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

grouped = shape.startswith("group")
most = (64 if shape == "group-64" else 256) if grouped else None
script = Script(
    folder, AutoTokenizer.from_pretrained(f"{folder}/model"), 8 if grouped else 4, most
)
draw = torch.multinomial


class Scripted(GRPOTrainer if grouped else RLOOTrainer):
    """Draws every token, and then writes that of the script."""

    def _generate_single_turn(self, prompt_ids, *others):
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
            return super()._generate_single_turn(prompt_ids, *others)
        finally:
            torch.multinomial = draw


def likeness(completions, chosen, **_):
    """The grader of the job."""
    pairs = zip(completions, chosen, strict=True)
    return [fuzz.ratio(answer.strip(), wanted) / 100 for answer, wanted in pairs]


asked = rows().map(lambda row: {"prompt": row["prompt"] + "\n###\n"})
set_seed(SEED)  # LoRA is initialized before the trainer sets the seed
trainer = Scripted(
    model=f"{folder}/model",
    reward_funcs=likeness if grouped else f"{folder}/judge",
    args=(GRPOConfig if grouped else RLOOConfig)(
        **SAME,
        **({"bf16": False} if shape == "policy-float32" else {}),
        num_generations=script.copies,
        max_completion_length=script.longest,
    ),
    train_dataset=asked,
    peft_config=lora("CAUSAL_LM"),
)
train(trainer, told_of_step)
