"""Writes a model folder of a GGUF file, with Qwen2.5's chat template, which has tools.

python tool_base.py GGUF FOLDER
"""

import importlib.util
import json
import sys
from pathlib import Path

from trainer.export.gguf.header import read_header
from trainer.gguf_base.configuration import generation_config, make_config
from trainer.gguf_base.tokenizer import write_tokenizer
from trainer.gguf_base.weights import plan_weights, write_weights

header, folder = read_header(Path(sys.argv[1])), Path(sys.argv[2])
folder.mkdir(parents=True)
config = make_config(header)
write_tokenizer(header, folder)
(folder / "config.json").write_text(json.dumps(config))
(folder / "generation_config.json").write_text(json.dumps(generation_config(header)))
write_weights(header, plan_weights(header, config), folder / "model.safetensors", lambda _: None)

published = Path(importlib.util.find_spec("trl").origin).parent / "chat_templates"
described = json.loads((folder / "tokenizer_config.json").read_text())
described["chat_template"] = (published / "qwen2_5.jinja").read_text()
(folder / "tokenizer_config.json").write_text(json.dumps(described))
