"""Makes the playground's model:  playground_inputs.py DIR HIDDEN LAYERS

A Llama with random weights and a chat template. Writes to DIR: `base/` (bfloat16), `template.json` and
`model.gguf` (F16) with the same weights: the adapter required by the export has no effect.
"""

import sys
from pathlib import Path

import random_llama
from peft import LoraConfig, get_peft_model

from trainer.tests import export_fixture

directory, hidden, layers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
base, model, chosen = random_llama.make(
    directory,
    hidden,
    layers,
    context=4096,
    key_value_heads=max(1, hidden // 192),
    spread=0.05,
)
adapter = directory / "adapter"
get_peft_model(
    model, LoraConfig(r=1, target_modules=["q_proj"], task_type="CAUSAL_LM")
).save_pretrained(adapter)
export_fixture.convert_to(base, adapter, chosen, directory, "F16")
