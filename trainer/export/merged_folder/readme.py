"""What the README files of an export say: how other programs load the merged model, and the adapter."""

from __future__ import annotations

import json

EXAMPLE = "Hello!"
MERGED = """# {title}

{base} with the changes of a training merged into its weights, by Hone. It needs no adapter. The weights are
{dtype} in safetensors files of at most 5 GB; the chat template and the tokens that end an answer are those of
the training. `FOLDER` stands for this folder below.

## transformers

```python
from transformers import {auto_class}, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = {auto_class}.from_pretrained("FOLDER", dtype="auto", device_map="auto")
messages = [{{"role": "user", "content": {example}}}]
inputs = tokenizer.apply_chat_template(
    messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
).to(model.device)
output = model.generate(**inputs, max_new_tokens=100)
print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
```

`device_map` needs the package `accelerate`; without it, leave it out. Versions of transformers before 4.56
call `dtype` `torch_dtype`.

## vLLM

```sh
vllm serve FOLDER --served-model-name {name}
curl http://localhost:8000/v1/chat/completions -H 'content-type: application/json' \\
  -d '{request}'
```

## MLX

On a Mac with an Apple processor:

```sh
pip install mlx-lm
mlx_lm.generate --model FOLDER --prompt '{example_text}'
mlx_lm.convert --hf-path FOLDER --mlx-path {name}-4bit -q
```

## What was checked

Hone has loaded this folder with transformers, and compared its predictions with those that the trained model
itself made in 32 bits{figure}. Whether vLLM and MLX run the architecture ({architecture}) is in their own
lists of supported models.
"""
ADAPTER = """# {title}: the adapter for llama.cpp

`adapter.gguf` has what the training changed of {base}, as low-rank factors in 32 bits. It is of no use
without that model, whose GGUF may be of any type: Q8_0 and larger change its answers least.

```sh
llama-server -m base.gguf --lora adapter.gguf
llama-cli -m base.gguf --lora adapter.gguf -cnv
```

`base.gguf` stands for a GGUF file of {base}, made by llama.cpp from the same weights. `--lora-scaled
adapter.gguf:0.5` applies half of the change. Several adapters can share one base: name each with `--lora`,
and choose with `POST /lora-adapters` of `llama-server`.

The base's file has its own chat template. The model was trained with the one in `template.json`
(`chat_template`): where they differ, write that into a file and add `--jinja --chat-template-file FILE`.
"""


def of_merged(
    title: str, base: str, dtype: str, architecture: str, auto_class: str, divergence: float | None
) -> str:
    """README.md of the merged folder. `divergence` is the mean KL divergence from the trained model, None
    where its predictions were not recorded."""
    name = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in title)
    request = {"model": name, "messages": [{"role": "user", "content": EXAMPLE}]}
    figure = ", where these were recorded"
    if divergence is not None:
        figure = f": the mean KL divergence is {divergence:.2g} nats"
    return MERGED.format(
        title=plain(title),
        base=code(base),
        dtype=dtype,
        auto_class=auto_class,
        example=json.dumps(EXAMPLE),
        example_text=EXAMPLE,
        name=name,
        request=json.dumps(request),
        figure=figure,
        architecture=architecture,
    )


def of_adapter(title: str, base: str) -> str:
    """The README beside the adapter's GGUF."""
    return ADAPTER.format(title=plain(title), base=code(base))


def plain(text: str) -> str:
    """A name in a heading, without what Markdown would read."""
    return " ".join("".join(letter for letter in text if letter not in "`*_[]<>#\\|").split())


def code(text: str) -> str:
    """A name as code."""
    return f"`{' '.join(text.replace('`', '').split())}`"
