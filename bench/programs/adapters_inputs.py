"""Makes a base model with an adapter and their merged file:  adapters_inputs.py DIR HIDDEN LAYERS

A Llama with random weights. Writes to DIR: `template.json`, `base.gguf`, `model.gguf` (both F16) and
`adapter.gguf`, of rank 8 in all linear layers.
"""

import json
import sys
from pathlib import Path

import torch
import transformers

from trainer.data import template as templates
from trainer.tests import export_fixture, tiny

directory, hidden, layers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
context = 8192
tokenizer = tiny.build_tokenizer(500, "chatml")
tokenizer.model_max_length = context
torch.manual_seed(7)
config = transformers.LlamaConfig(
    vocab_size=len(tokenizer),
    hidden_size=hidden,
    intermediate_size=hidden * 8 // 3 // 256 * 256,
    num_hidden_layers=layers,
    num_attention_heads=hidden // 64,
    num_key_value_heads=max(1, hidden // 256),
    max_position_embeddings=context,
    bos_token_id=tokenizer.bos_token_id,
    eos_token_id=tokenizer.eos_token_id,
    pad_token_id=tokenizer.pad_token_id,
)
base = directory / "base"
model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
model.save_pretrained(base)
tokenizer.save_pretrained(base)
del model
export_fixture.make_adapter(base, directory / "adapter", r=8)
chosen = templates.choose(
    tokenizer, json.loads((base / "config.json").read_text()), None
)
templates.save(chosen, "text-generation", directory / "template.json")
export_fixture.convert_to(
    base, directory / "adapter", chosen, directory, "F16", with_base=True
)
