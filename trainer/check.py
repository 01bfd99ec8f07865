"""What can be said about a base model from its small files, before a byte of its weights is fetched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trainer.contracts import Spec
from trainer.failures import Failure

# By `model_type`: what transformers has a head for, and what was tried.
ENCODER_DECODERS = ("t5", "bart", "mbart", "pegasus", "longt5", "mt5", "umt5")
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

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")


def read_config(directory: Path, name: str) -> dict[str, Any]:
    """The model's `config.json`; a Failure says why this is no model that Hone trains.

    Programs in a model repository are never run: a model that needs its own is refused.
    """
    config = _json(directory / "config.json")
    if not isinstance(config, dict):
        raise Failure(
            "bad_model",
            f"{name} is not a model: it has no readable config.json.",
            "Give owner/name of a model on the hub, or a directory with config.json and *.safetensors.",
        )
    tokenizer_config = _json(directory / "tokenizer_config.json") or {}
    if "auto_map" in config or "auto_map" in tokenizer_config:
        raise Failure(
            "unsupported",
            "This model needs Python code of its own (auto_map), which Hone never runs.",
            "Choose a model of an architecture that transformers has built in.",
            f"auto_map: {json.dumps(config.get('auto_map') or tokenizer_config.get('auto_map'))[:500]}",
        )
    if not any((directory / name).exists() for name in TOKENIZER_FILES):
        raise Failure(
            "bad_tokenizer",
            "The model has no tokenizer files.",
            f"It needs one of: {', '.join(TOKENIZER_FILES)}.",
        )
    return config


def family(config: dict[str, Any], task: Any, strategy: Any) -> str:
    """How the model is trained: `causal` (continues a text), `seq2seq` (encoder and decoder) or `extractive`
    (an encoder that points into a text); Failure `unsupported` names what does not go together."""
    architecture = (config.get("architectures") or ["unknown"])[0]
    kind = "other"
    if not config.get("is_encoder_decoder") and architecture.endswith(("ForCausalLM", "LMHeadModel")):
        kind = "causal"
    elif config.get("is_encoder_decoder") and config.get("model_type") in ENCODER_DECODERS:
        kind = "seq2seq"
    elif not config.get("is_encoder_decoder") and config.get("model_type") in ENCODERS:
        kind = "extractive"
    if kind not in task.families or kind not in strategy.families:
        raise Failure(
            "unsupported",
            f"{architecture} cannot be trained for {task.name} with the strategy {strategy.name}.",
            "Choose a model that continues text (…ForCausalLM), which every task and strategy takes.",
            f"config.json: architectures {config.get('architectures')}",
        )
    return kind


def check_exportable(config: dict[str, Any], spec: Spec) -> None:
    """Failure `unsupported` when a GGUF is wanted and llama.cpp could not run it."""
    if spec.export is None:
        return
    from trainer.export.architectures import verdict

    if spec.tools is None:
        raise Failure("unsupported", "The job wants a GGUF and names no converter.", "Set export to none.")
    possible, reason = verdict(config, spec.tools.converter)
    if not possible:
        raise Failure("unsupported", reason, "Choose another model, or set export to none.")


def check_weights(directory: Path, name: str) -> None:
    """Failure `bad_model` unless the weights are there as safetensors, all of them."""
    index = _json(directory / "model.safetensors.index.json")
    if isinstance(index, dict):
        missing = [
            file for file in sorted(set(index["weight_map"].values())) if not (directory / file).exists()
        ]
        if missing:
            raise Failure(
                "bad_model",
                f"{name} lacks weight files: {', '.join(missing[:3])}.",
                "Download it again.",
            )
        return
    if any(directory.glob("*.safetensors")):
        return
    pickles = [path.name for path in directory.iterdir() if path.suffix in (".bin", ".pt", ".pth")]
    found = f" It has {pickles[0]}, a pickle, which Hone does not open." if pickles else ""
    raise Failure(
        "bad_model",
        f"{name} has no weights as safetensors.{found}",
        "Choose a model with *.safetensors files.",
    )


def _json(path: Path) -> Any:
    """The JSON in `path`, or None."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
