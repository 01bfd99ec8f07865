"""Makes a toy of an architecture: a model of a few hundred thousand random weights, as its hub repository
has it.

    python -m trainer.tests.architectures.toys [NAME DIRECTORY [--seed N] [--template chatml|channels]]

Without arguments it lists the names, which are those of `toys.json`. Nothing is downloaded.

`toys.json` has the `sizes` of all toys by the names that configurations have for them; a configuration gets
those that it knows. Of each toy it has the class and `model_type` of transformers, the `sizes` in which it
differs, so that it has all kinds of layers of its architecture, and `hub`: what its config.json has on the
hub where transformers writes another name or value (null: the field is not there); `tokenizer_config` is the
same of the file of that name. `tensors` are patterns of names that transformers writes, with what the
published files have in their place. `cause` is what is known of why no GGUF is made.
`scaled` has factors, by patterns of parameters' names, where trained ones differ in size from what
initialization gives them: Gemma 4's attention has no scale, which its `q_norm` learns, and where every layer
of a deep toy added as much as there was before it, rounding would grow from layer to layer.
`read` is what config.json must have for transformers to read what the published file says by another name.

A budget of blocks of sparse attention is larger than the sequences that are compared, as published ones are:
which of two nearly equal blocks is chosen depends on rounding.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from trainer.tests import tiny

TABLE = json.loads(Path(__file__).with_name("toys.json").read_text("utf-8"))
TOYS: dict[str, dict[str, Any]] = TABLE["toys"]
# Norms begin as ones and biases as zeros; noise of this size shows when one is lost or swapped.
NOISE = 0.02
# Tokens: a multiple of what some architectures pad the embedding to.
VOCABULARY = 512


def configuration(name: str, tokenizer: Any) -> Any:
    """The configuration of the toy `name` for the vocabulary of `tokenizer`."""
    from transformers import AutoConfig

    toy = TOYS[name]
    defaults = AutoConfig.for_model(toy["model_type"]).to_dict()
    known = {field: size for field, size in TABLE["sizes"].items() if defaults.get(field) is not None}
    tokens = {"vocab_size": len(tokenizer), **tiny.token_ids(tokenizer)}
    common = {"initializer_range": 0.05, "tie_word_embeddings": False}
    return AutoConfig.for_model(toy["model_type"], **{**common, **tokens, **known, **toy.get("sizes", {})})


def build(name: str, directory: Path, seed: int = 7, template: str = "chatml") -> Path:
    """Writes the toy `name` with its tokenizer, of the chat template `template`, into `directory` and returns
    it."""
    import torch
    from transformers import AutoModelForCausalLM

    tokenizer = tiny.build_tokenizer(VOCABULARY, template=template)
    tokenizer.model_max_length = 256
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(configuration(name, tokenizer))
    assert type(model).__name__ == TOYS[name]["architecture"], type(model).__name__
    with torch.no_grad():
        for parameter in model.parameters():
            # Some routers begin as zeros: every expert would be as good as another.
            if parameter.dim() == 1 or not parameter.any():
                parameter.add_(torch.randn_like(parameter), alpha=NOISE)
    scale(name, model)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    _publish(Path(directory) / "model.safetensors", TOYS[name].get("tensors", {}))
    path = Path(directory) / "config.json"
    hub = TOYS[name].get("hub", {})
    config = {**json.loads(path.read_text("utf-8")), **hub}
    kept = {field: value for field, value in config.items() if value is not None or field not in hub}
    path.write_text(json.dumps(kept, indent=2), "utf-8")
    path = Path(directory) / "tokenizer_config.json"
    settings = {**json.loads(path.read_text("utf-8")), **TOYS[name].get("tokenizer_config", {})}
    path.write_text(json.dumps(settings, indent=2), "utf-8")
    return Path(directory)


def scale(name: str, model: Any) -> None:
    """Multiplies parameters of `model`, the toy `name`, as its `scaled` says."""
    import torch

    with torch.no_grad():
        for pattern, factor in TOYS[name].get("scaled", {}).items():
            for place, parameter in model.named_parameters():
                if re.search(pattern, place):
                    parameter.mul_(factor)


def _publish(path: Path, names: dict[str, str]) -> None:
    """Gives the tensors of a file the names that they are published with, by the patterns `names`."""
    from safetensors.torch import load_file, save_file

    if not names:
        return
    stored = load_file(path)
    for pattern, published in names.items():
        stored = {re.sub(pattern, published, name): tensor for name, tensor in stored.items()}
    save_file(stored, path, {"format": "pt"})


def main(argv: list[str] | None = None) -> int:
    """Command line of the module docstring."""
    parser = argparse.ArgumentParser(prog="python -m trainer.tests.architectures.toys")
    parser.add_argument("name", nargs="?", choices=sorted(TOYS))
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--template", choices=[*tiny.TEMPLATES], default="chatml")
    args = parser.parse_args(argv)
    if args.name is None or args.directory is None:
        print("\n".join(sorted(TOYS)))
        return 0
    build(args.name, args.directory, args.seed, args.template)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
