"""Reads a pushed model with the stock client: its card, its adapter, its merged file. One JSON line."""

import hashlib
import json
import sys
from pathlib import Path

from huggingface_hub import ModelCard, snapshot_download
from safetensors import safe_open

folder = Path(snapshot_download(sys.argv[1]))
card = ModelCard.load(folder / "README.md").data
adapter = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
with safe_open(folder / "adapter_model.safetensors", "np") as file:
    names = list(file.keys())
    shapes = [file.get_slice(name).get_shape() for name in names]
gguf = next(folder.glob("*.gguf")).read_bytes()
print(
    json.dumps(
        {
            "base_model": card.base_model,
            "license": card.license,
            "pipeline_tag": card.pipeline_tag,
            "tags": card.tags,
            "adapter_base": adapter["base_model_name_or_path"],
            "tensors": len(shapes),
            "gguf_magic": gguf[:4].decode(),
            "gguf_sha256": hashlib.sha256(gguf).hexdigest(),
        }
    )
)
