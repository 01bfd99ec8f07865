"""Trains the starter model from scratch and saves it as a Hugging Face model folder."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from trainer.starter.recipe import Recipe
from trainer.starter.text import passages
from trainer.starter.tokenizer import make_tokenizer

Report = Callable[[str], None]


def build_starter(out: Path, report: Report, recipe: Recipe | None = None) -> Path:
    """Makes the model in a temporary folder, then renames it to `out`.

    An existing folder with the same recipe is kept. Raises OSError if `out` contains anything but a
    starter model.
    """
    recipe = recipe or Recipe()
    mark = out / "starter.json"
    if out.exists():
        if not mark.is_file():
            raise OSError(f"{out} exists and is not a starter model")
        if json.loads(mark.read_text())["digest"] == recipe.digest():
            report(f"starter: up to date in {out}")
            return out
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        _train(aside, recipe, report)
        note = {"digest": recipe.digest(), "recipe": asdict(recipe)}
        (aside / "starter.json").write_text(json.dumps(note, indent=2) + "\n")
        shutil.rmtree(out, ignore_errors=True)
        aside.rename(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    report(f"starter: done, in {out}")
    return out


def _train(folder: Path, recipe: Recipe, report: Report) -> None:
    """Trains tokenizer and model and saves both in `folder`."""
    report("starter: loading torch")
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    # One thread always sums in the same order, which makes the weights reproducible.
    torch.set_num_threads(1)
    torch.manual_seed(recipe.seed)

    texts = list(passages(recipe.passages, recipe.seed))
    tokenizer = make_tokenizer(texts, recipe.vocab_size, recipe.max_positions)
    end, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
    rows = [[*ids, end] for ids in tokenizer(texts)["input_ids"]]
    report(f"starter: {len(rows)} passages, {sum(map(len, rows))} tokens, vocabulary {len(tokenizer)}")

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=recipe.hidden_size,
            intermediate_size=recipe.intermediate_size,
            num_hidden_layers=recipe.layers,
            num_attention_heads=recipe.heads,
            num_key_value_heads=recipe.heads,
            max_position_embeddings=recipe.max_positions,
            rope_parameters={"rope_type": "default", "rope_theta": recipe.rope_theta},
            initializer_range=recipe.initializer_range,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=end,
            pad_token_id=pad,
        )
    )
    report(f"starter: {sum(p.numel() for p in model.parameters())} parameters, {recipe.steps} steps")

    shuffle = random.Random(recipe.seed)
    order: list[int] = []
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.peak_learning_rate, weight_decay=recipe.weight_decay, betas=(0.9, 0.98)
    )
    began = time.monotonic()
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = recipe.peak_learning_rate * _rate(step, recipe)
        if len(order) < recipe.batch:
            order = shuffle.sample(range(len(rows)), len(rows))
        chosen = [rows[order.pop()] for _ in range(recipe.batch)]
        width = max(map(len, chosen))
        inputs = torch.tensor([row + [pad] * (width - len(row)) for row in chosen])
        labels = torch.tensor([row + [-100] * (width - len(row)) for row in chosen])
        # Right padding needs no mask in a causal model.
        loss = model(input_ids=inputs, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        done = step + 1
        if done % 10 == 0 or done == recipe.steps:
            elapsed = time.monotonic() - began
            left = elapsed / done * (recipe.steps - done)
            report(f"starter: step {done}/{recipe.steps} loss {loss.item():.3f} left {left:.0f}s")
    if not math.isfinite(loss.item()):
        raise ArithmeticError("the starter model's loss is not finite")

    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _rate(step: int, recipe: Recipe) -> float:
    """The learning rate of a step relative to its peak: linear warm-up, then cosine decay to a tenth."""
    if step < recipe.warmup_steps:
        return (step + 1) / recipe.warmup_steps
    done = (step - recipe.warmup_steps) / max(1, recipe.steps - recipe.warmup_steps)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * done))
