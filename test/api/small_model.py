"""Makes a Llama model of random weights, a few million parameters large, for `estimate.test.ts`.

python small_model.py OUTDIR [VOCABULARY]
"""

import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from trainer.tests.tiny import build_tokenizer

torch.manual_seed(0)
tokenizer = build_tokenizer()
config = LlamaConfig(
    vocab_size=int(sys.argv[2]) if len(sys.argv) > 2 else 2000,
    hidden_size=256,
    intermediate_size=688,
    num_hidden_layers=8,
    num_attention_heads=8,
    num_key_value_heads=4,
    max_position_embeddings=1024,
    tie_word_embeddings=True,
    bos_token_id=tokenizer.bos_token_id,
    eos_token_id=tokenizer.eos_token_id,
    pad_token_id=tokenizer.pad_token_id,
)
LlamaForCausalLM(config).save_pretrained(sys.argv[1])
tokenizer.save_pretrained(sys.argv[1])
