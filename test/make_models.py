"""Makes the base models of the Node tests, all in one process: importing torch takes longer than making them.

python make_models.py OUTDIR
"""

import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from trainer.tests import tiny
from trainer.tests.chat.models import build
from trainer.tests.export_fixture import make_base

TINY = ("llama-none", "llama-chatml", "qwen3-none", "qwen3-chatml", "t5-none", "bart-none", "bert-none")


def make_small(directory: Path, vocabulary: int) -> None:
    """A Llama model of a few million parameters: large enough that weights are most of memory and files."""
    torch.manual_seed(0)
    tokenizer = tiny.build_tokenizer()
    shape = tiny.decoder_shape(
        tokenizer,
        context=1024,
        vocab_size=vocabulary,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=4,
        initializer_range=0.02,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(LlamaConfig(**shape)).save_pretrained(directory)
    tokenizer.save_pretrained(directory)


out = Path(sys.argv[1])
for name in TINY:
    kind, template = name.split("-")
    tiny.build(kind, out / name, None if template == "none" else template)
make_small(out / "small", 2_000)
make_small(out / "small-many-tokens", 32_000)
# Conversations of this one llama.cpp cannot read as its tokenizer does.
make_base("phi3-chat", out / "mixed", "mixed", keep_sentencepiece=False)
# Its answers begin with white space that the template and the tokenizer put there.
build("mistral-sp", out / "spaced")
