"""transformers' own generate:  playground_transformers.py BASE TOKENS  with the messages as JSON on stdin.

Prints the prompt tokens, the generated tokens and the decoding speed in tokens per second, excluding the time to the
first token. On a GPU with BENCH_DEVICE=cuda.
"""

import json
import os
import sys
import time

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

base, count = sys.argv[1], int(sys.argv[2])
device = os.environ.get("BENCH_DEVICE", "cpu")
model = (
    AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16).to(device).eval()
)
tokenizer = AutoTokenizer.from_pretrained(base)
ids = tokenizer.apply_chat_template(
    json.load(sys.stdin),
    add_generation_prompt=True,
    return_tensors="pt",
    return_dict=True,
).to(device)


def seconds(tokens: int) -> tuple[float, int]:
    begun = time.perf_counter()
    with torch.inference_mode():
        made = model.generate(
            **ids, do_sample=False, min_new_tokens=tokens, max_new_tokens=tokens
        )
    return time.perf_counter() - begun, made.shape[1] - ids["input_ids"].shape[1]


seconds(4)
first, _ = seconds(1)
whole, made = seconds(count)
print(
    json.dumps(
        {
            "prompt": ids["input_ids"].shape[1],
            "made": made,
            "rate": (made - 1) / (whole - first),
        }
    )
)
