"""Checks of a base model's small files, before its weights are downloaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trainer.model import reduced, text_part, view
from trainer.protocol.contracts import Spec
from trainer.protocol.failures import Failure

# By `model_type`: architectures that transformers has the needed head for and that are tested.
ENCODER_DECODERS = ("t5", "bart", "mbart", "pegasus", "longt5", "mt5", "umt5")
# Those with a question answering head in transformers.
POINTING_ENCODER_DECODERS = ("t5", "bart", "mbart", "mt5", "umt5")
ENCODERS = (
    "bert",
    "roberta",
    "distilbert",
    "electra",
    "albert",
    "deberta",
    "deberta-v2",
    "xlm-roberta",
    "camembert",
    "mpnet",
    "modernbert",
)

# Files that may name custom code (src/domain/base-models/own-code.ts has the same list).
CODE_FILES = (
    "config.json",
    "tokenizer_config.json",
    "processor_config.json",
    "preprocessor_config.json",
    "generation_config.json",
)

# A tokenizer as one file: tokenizer.json, or SentencePiece's model by one of its names.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
)

# The largest files that are read whole, in bytes. Configurations have kilobytes (the service has the same
# limit in src/domain/base-models/small-json.ts), tokenizers and lists of tensors up to about 50 MB.
LARGEST = {
    **dict.fromkeys(
        (
            *CODE_FILES,
            "special_tokens_map.json",
            "added_tokens.json",
            "chat_template.jinja",
            "chat_template.json",
        ),
        2**24,
    ),
    **dict.fromkeys(
        (*TOKENIZER_FILES, "vocab.json", "vocab.txt", "merges.txt", "model.safetensors.index.json"), 2**27
    ),
}


def read_config(directory: Path, name: str) -> dict[str, Any]:
    """The model's `config.json`, reduced; a Failure says why Hone does not train this model.

    Hone never runs code from a model repository, and refuses a model that needs it.
    """
    check_sizes(directory, name)
    config = view.read_json(directory, "config.json")
    if not isinstance(config, dict):
        raise Failure(
            "bad_model",
            f"{name} is not a model: it has no valid config.json.",
            "Give owner/name of a model on the hub, or a directory with config.json and *.safetensors.",
        )
    for file in CODE_FILES:
        content = view.read_json(directory, file)
        code = content.get("auto_map") if isinstance(content, dict) else None
        if code:
            raise Failure(
                "unsupported",
                f"This model needs custom Python code (auto_map in {file}), which Hone never runs.",
                "Choose a model with an architecture that is part of transformers.",
                f"auto_map: {json.dumps(code)[:500]}",
            )
    if not any(view.find(directory, name) for name in TOKENIZER_FILES):
        raise Failure(
            "bad_tokenizer",
            "The model has no tokenizer.json and no SentencePiece model.",
            f"It needs one of: {', '.join(TOKENIZER_FILES)}. A tokenizer of older files becomes a "
            "tokenizer.json with transformers: AutoTokenizer.from_pretrained(…).save_pretrained(…).",
        )
    return reduced.model_config(config)


def check_sizes(directory: Path, name: str) -> None:
    """Failure `bad_model` when a file that is read whole is too large for that."""
    for file, limit in LARGEST.items():
        path = directory / file
        size = path.stat().st_size if path.exists() else 0
        if size > limit:
            raise Failure(
                "bad_model",
                f"{file} of {name} has {size / 2**20:.0f} MiB, more than the limit of {limit // 2**20} MiB.",
                "Choose another model, or check where its files come from.",
            )


def family(config: dict[str, Any], task: Any, strategy: Any) -> str:
    """How the model is trained: `causal` (decoder, also as the text part of a model that sees or hears),
    `seq2seq` (encoder-decoder) or `extractive` (predicts a span); Failure `unsupported` when the task or the
    strategy does not support it."""
    architecture = (config.get("architectures") or ["unknown"])[0]
    kind = "other"
    decodes = not config.get("is_encoder_decoder") and architecture.endswith(("ForCausalLM", "LMHeadModel"))
    if decodes or text_part.find(config) is not None:
        kind = "causal"
    elif config.get("is_encoder_decoder") and config.get("model_type") in ENCODER_DECODERS:
        kind = "seq2seq"
        if kind not in task.families and config["model_type"] in POINTING_ENCODER_DECODERS:
            kind = "extractive"
    elif not config.get("is_encoder_decoder") and config.get("model_type") in ENCODERS:
        kind = "extractive"
    if kind not in task.families or kind not in strategy.families:
        raise Failure(
            "unsupported",
            f"{architecture} cannot be trained for {task.name} with the strategy {strategy.name}.",
            "Choose a causal language model (…ForCausalLM), which every task and strategy supports.",
            f"config.json: architectures {config.get('architectures')}",
        )
    return kind


def refuse_shape(config: dict[str, Any], family_name: str, shape: str) -> None:
    """Failure `unsupported` for conversations or text with a model that is no decoder (the service refuses
    them before, in `src/domain/base-models/model-pair.ts`)."""
    if shape in ("messages", "text") and family_name != "causal":
        architecture = (config.get("architectures") or ["unknown"])[0]
        raise Failure(
            "unsupported",
            f"{architecture} reads one input and writes one output and cannot be trained on rows of {shape}.",
            "Choose a causal language model (…ForCausalLM), or a dataset of input and output.",
        )


def model_types(task: Any, strategy: Any) -> list[str]:
    """The model types of encoders and encoder-decoders that can be trained for `task` with `strategy`, in
    addition to causal language models."""
    found = []
    for name in (*ENCODER_DECODERS, *ENCODERS):
        try:
            family({"model_type": name, "is_encoder_decoder": name in ENCODER_DECODERS}, task, strategy)
        except Failure:
            continue
        found.append(name)
    return found


def exportable(config: dict[str, Any], spec: Spec) -> tuple[bool, str]:
    """Whether the model can be exported to GGUF, and why not; Failure `unsupported` when it cannot and the
    request asked for it."""
    if spec.tools is None:
        raise Failure("unsupported", "The job asks for a GGUF and names no converter.", "Set export to none.")
    from trainer.export.architectures import verdict

    possible, reason = verdict(config, spec.tools.converter)
    if not possible and spec.export.required:
        raise Failure(
            "unsupported", reason, "Choose another model, or set export to none to train it without a GGUF."
        )
    return possible, reason


def check_weights(directory: Path, name: str) -> None:
    """Failure `bad_model` unless all weights are there as safetensors."""
    promised = view.weight_files(directory)
    if promised is not None:
        missing = [file for file in promised if view.find(directory, file) is None]
        if missing:
            raise Failure(
                "bad_model",
                f"Weight files of {name} are missing: {', '.join(missing[:3])}.",
                "Download it again.",
            )
        return
    if any(directory.glob("*.safetensors")):
        return
    pickles = [path.name for path in directory.iterdir() if path.suffix in (".bin", ".pt", ".pth")]
    found = f" It has {pickles[0]}, a pickle file, which Hone does not open." if pickles else ""
    raise Failure(
        "bad_model",
        f"{name} has no weights as safetensors.{found}",
        "Choose a model with *.safetensors files.",
    )
