"""Greedy answers to the rows of a folder in float32: `python answers.py DIR COUNT SIDE`, `hone` or `transformers`.

Ours are those of an evaluation. The peer is `generate` of transformers with batches of 8, as its examples evaluate. A
model with random weights never ends an answer, so both sides write the end after as many tokens as the row's own answer
has. Prints the answers as JSON, with their tokens and the CPU time that writing them took.
"""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import peft  # noqa: F401 A training has it anyway.
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from trainer.padding_free import continuing
from trainer.training.generate import MAX_NEW_TOKENS, generate_answers

# The batch of an evaluation by default.
BATCH = 8

folder, count, side = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
tokenizer = AutoTokenizer.from_pretrained(folder / "model")
model = AutoModelForCausalLM.from_pretrained(
    folder / "model", dtype=torch.float32
).eval()
with open(folder / "rows.jsonl", encoding="utf-8") as lines:
    rows = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
prompts = [row["input"] for row in rows]
ids = [tokenizer(prompt, add_special_tokens=False).input_ids for prompt in prompts]
end = tokenizer.eos_token_id
lengths = {
    tuple(row): min(MAX_NEW_TOKENS, 1 + len(tokenizer(text["output"]).input_ids))
    for row, text in zip(ids, rows, strict=True)
}


def by_hone() -> list[str]:
    """The answers of an evaluation to the beginnings of texts."""
    job = SimpleNamespace(
        template=SimpleNamespace(context_length=None, stop=[tokenizer.eos_token]),
        tokenizer=tokenizer,
        provider=SimpleNamespace(own_kernels=False),
        beat_or_stop=lambda: None,
    )
    continue_prompts, greedy = continuing.continue_prompts, continuing.greedy

    def scripted(
        model: object, prompts: list[list[int]], **options: object
    ) -> list[list[int]]:
        places = [0] * len(prompts)

        def sample(logits: object, numbers: list[int]) -> object:
            tokens = greedy(logits, numbers)
            for place, number in enumerate(numbers):
                places[number] += 1
                if places[number] == lengths[tuple(prompts[number])]:
                    tokens[place] = end
            return tokens

        return continue_prompts(model, prompts, **{**options, "sampler": sample})

    # The trial whether the model can be continued so has no script.
    assert continuing.why_not_continued(model, ids, "float32") is None
    continuing.continue_prompts = scripted
    return generate_answers(job, model, prompts, MAX_NEW_TOKENS)


def by_transformers() -> list[str]:
    """The answers of `generate`."""
    given: list[str] = []
    tokenizer.padding_side = "left"
    for start in range(0, count, BATCH):
        batch = tokenizer(
            prompts[start : start + BATCH],
            return_tensors="pt",
            padding=True,
            add_special_tokens=False,
        )
        wanted = [lengths[tuple(row)] for row in ids[start : start + BATCH]]
        width = batch.input_ids.shape[1]

        def scripted(
            sequences: object,
            scores: object,
            width: int = width,
            wanted: list[int] = wanted,
        ) -> object:
            for row, length in enumerate(wanted):
                if sequences.shape[1] - width + 1 == length:
                    scores[row, end] = scores[row].max() + 1
            return scores

        with torch.inference_mode():
            made = model.generate(
                **batch,
                max_new_tokens=MAX_NEW_TOKENS,
                do_sample=False,
                eos_token_id=end,
                pad_token_id=tokenizer.pad_token_id,
                logits_processor=[scripted],
            )
        given += tokenizer.batch_decode(made[:, width:], skip_special_tokens=True)
    return [text.strip() for text in given]


begun = time.process_time()
answers = by_hone() if side == "hone" else by_transformers()
seconds = time.process_time() - begun
written = sum(lengths[tuple(row)] for row in ids)
print("\n" + json.dumps({"answers": answers, "tokens": written, "seconds": seconds}))
