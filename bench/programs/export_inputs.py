"""Makes the inputs that both sides of the export bench share: `python export_inputs.py DIR SIZE`.

Writes to DIR: `base/`, a Llama with random weights in bf16 shards, and `trained/`, the content of a job folder
after training: an adapter with random factors for all linear layers, and the template.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from peft import LoraConfig, get_peft_model

from trainer.data import template
from trainer.model.config import complete_config
from trainer.tests import tiny

# Hidden size, inner size, layers, heads, vocabulary: 2.8 GB (1.4 billion weights), 65 MB and 1 MB in bf16.
SHAPES = {
    "full": (2048, 8192, 22, 32, 32_000),
    "quick": (768, 2048, 4, 8, 8_000),
    "test": (64, 128, 2, 4, 600),
}
SHARD = {"full": "200MB", "quick": "32MB", "test": "1MB"}


def main(folder: Path, size: str) -> None:
    """Writes base and adapter."""
    hidden, inner, layers, heads, vocabulary = SHAPES[size]
    base, trained = folder / "base", folder / "trained"
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 4,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        dtype="bfloat16",
    )
    model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(base, max_shard_size=SHARD[size])
    tokenizer = tiny.build_tokenizer()
    tokenizer.save_pretrained(base)
    tuned = get_peft_model(
        model,
        LoraConfig(
            r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
    )
    for name, parameter in tuned.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    tuned.save_pretrained(trained / "artifacts" / "adapter")
    tokenizer.save_pretrained(trained / "artifacts" / "adapter")
    chosen = template.choose(
        tokenizer, json.loads((base / "config.json").read_text()), None
    )
    template.save(chosen, "text-generation", trained / "artifacts" / "template.json")
    told = {"version": 1, "step": 1, "metrics": {}, "config": complete_config(base)}
    (trained / "trained.json").write_text(json.dumps(told))
    (trained / "dataset.jsonl").write_text('{"input": "a", "output": "b"}\n' * 10)


main(Path(sys.argv[1]), sys.argv[2])
