"""A tiny model of digits that answers sums, for trainings with graders."""

import random
from pathlib import Path

from trainer.tests import tiny

RIGHT = {
    "type": "string_check",
    "name": "right",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "operation": "eq",
}
COUNT = 5


def sums():
    """All sums of two numbers below COUNT, as rows."""
    return [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(COUNT) for b in range(COUNT)]


def build(directory: Path, learns: int = 100, guesses: int = 7, seed: int = 7) -> Path:
    """A model that was trained on sums for some steps and then for some on guesses: it knows what a sum looks
    like, and is right less than one time in six."""
    import torch
    import transformers

    tokenizer = tiny.build_tokenizer(263)
    tokenizer.model_max_length = 64
    torch.manual_seed(seed)
    draw = random.Random(seed)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**tiny.decoder_shape(tokenizer, 64, tie_word_embeddings=True))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(learns + guesses):
        # Answers are a digit each.
        texts = [
            f"{row['prompt']}\n###\n{row['answer'] if step < learns else draw.randrange(2 * COUNT - 1)}</s>"
            for row in draw.choices(sums(), k=128)
        ]
        ids = tokenizer(texts, add_special_tokens=False, return_tensors="pt").input_ids
        # The answer and its end.
        labels = ids.index_fill(1, torch.arange(ids.shape[1] - 2), -100)
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
