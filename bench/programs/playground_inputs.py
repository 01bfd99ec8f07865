"""Makes the playground's model:  playground_inputs.py DIR HIDDEN LAYERS

A Llama with random weights and a chat template. Writes to DIR: `base/` (bfloat16), `template.json` and
`model.gguf` (F16) with the same weights: the adapter required by the export has no effect.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from peft import LoraConfig, get_peft_model

from trainer.data import template as templates
from trainer.tests import export_fixture, tiny

directory, hidden, layers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
context = 4096
tokenizer = tiny.build_tokenizer(500, "chatml")
tokenizer.model_max_length = context
torch.manual_seed(7)
config = transformers.LlamaConfig(
    vocab_size=len(tokenizer),
    hidden_size=hidden,
    intermediate_size=hidden * 8 // 3 // 256 * 256,
    num_hidden_layers=layers,
    num_attention_heads=hidden // 64,
    num_key_value_heads=max(1, hidden // 192),
    max_position_embeddings=context,
    initializer_range=0.05,
    bos_token_id=tokenizer.bos_token_id,
    eos_token_id=tokenizer.eos_token_id,
    pad_token_id=tokenizer.pad_token_id,
)
base = directory / "base"
model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
model.save_pretrained(base)
tokenizer.save_pretrained(base)
adapter = directory / "adapter"
get_peft_model(
    model, LoraConfig(r=1, target_modules=["q_proj"], task_type="CAUSAL_LM")
).save_pretrained(adapter)
chosen = templates.choose(
    tokenizer, json.loads((base / "config.json").read_text()), None
)
templates.save(chosen, "text-generation", directory / "template.json")
export_fixture.convert_to(base, adapter, chosen, directory, "F16")
