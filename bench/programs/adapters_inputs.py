"""Makes a base model with an adapter and their merged file:  adapters_inputs.py DIR HIDDEN LAYERS

A Llama with random weights. Writes to DIR: `template.json`, `base.gguf`, `model.gguf` (both F16) and
`adapter.gguf`, of rank 8 in all linear layers.
"""

import sys
from pathlib import Path

import random_llama

from trainer.tests import export_fixture

directory, hidden, layers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
base, model, chosen = random_llama.make(
    directory, hidden, layers, context=8192, key_value_heads=max(1, hidden // 256)
)
del model
export_fixture.make_adapter(base, directory / "adapter", r=8)
export_fixture.convert_to(
    base, directory / "adapter", chosen, directory, "F16", with_base=True
)
