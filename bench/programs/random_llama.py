"""A Llama with random weights and a chat template, as a base model."""

import json
from pathlib import Path

import torch
import transformers

from trainer.data import template as templates
from trainer.tests import tiny


def make(
    directory: Path,
    hidden: int,
    layers: int,
    *,
    context: int,
    key_value_heads: int,
    spread: float = 0.02,
) -> tuple[Path, transformers.PreTrainedModel, templates.Template]:
    """Writes `base/` (bfloat16) and `template.json` to `directory`.

    Its answers never end by themselves. Returns the path of the base, its model and its template. `spread` is the
    standard deviation of the weights.
    """
    tokenizer = tiny.build_tokenizer(500, "chatml")
    tokenizer.model_max_length = context
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=hidden * 8 // 3 // 256 * 256,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        num_key_value_heads=key_value_heads,
        max_position_embeddings=context,
        initializer_range=spread,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    base = directory / "base"
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    # Random answers would end anywhere, also at tokens that only llama.cpp knows for an end, such as </s>. The most likely
    # token has a logit above 0, so these are never it.
    model.lm_head.weight.data[list(tokenizer.added_tokens_decoder)] = 0
    model.save_pretrained(base)
    tokenizer.save_pretrained(base)
    chosen = templates.choose(
        tokenizer, json.loads((base / "config.json").read_text()), None
    )
    templates.save(chosen, "text-generation", directory / "template.json")
    return base, model, chosen
