"""Checks of a base model's small files, before its weights are downloaded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from trainer.model import reduced, text_part, view
from trainer.protocol.contracts import Spec
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

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

# One of several weight files.
SHARD = re.compile(r"-\d+-of-\d+\.safetensors$")

# How the classes of causal language models are called.
CAUSAL_SUFFIXES = ("ForCausalLM", "LMHeadModel")

# A tokenizer as one file: tokenizer.json, or SentencePiece's model by one of its names.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
)

# The largest files that are read whole, in bytes. Configurations have kilobytes (the service has the same
# limit in src/domain/base-models/files/small-json.ts), tokenizers and lists of tensors up to about 50 MB.
LARGEST = {
    **dict.fromkeys(
        (
            "config.json",
            "generation_config.json",
            "tokenizer_config.json",
            "adapter_config.json",
            "special_tokens_map.json",
            "added_tokens.json",
            "chat_template.jinja",
            "chat_template.json",
            view.TOOL_TEMPLATE,
        ),
        2**24,
    ),
    **dict.fromkeys(
        (*TOKENIZER_FILES, "vocab.json", "vocab.txt", "merges.txt", "model.safetensors.index.json"), 2**27
    ),
}


class Supporting(Protocol):
    """A task or a strategy, with the families that it supports."""

    @property
    def name(self) -> str: ...
    @property
    def families(self) -> tuple[str, ...]: ...


def read_config(directory: Path, name: str) -> ModelConfig:
    """The model's `config.json`, reduced; a Failure says why Hone does not train this model.

    Hone never runs code from a model repository, and refuses a model that needs it.
    """
    check_sizes(directory, name)
    config = view.read_model_config(directory)
    if config is None:
        raise Failure(
            "bad_model",
            f"{name} is not a model: it has no valid config.json.",
            "Give owner/name of a model on the hub, or a directory with config.json and *.safetensors.",
        )
    _refuse_unknown(directory, config)
    if not any(view.find(directory, name) for name in TOKENIZER_FILES):
        raise Failure(
            "bad_tokenizer",
            "The model has no tokenizer.json and no SentencePiece model.",
            f"It needs one of: {', '.join(TOKENIZER_FILES)}. A tokenizer of older files becomes a "
            "tokenizer.json with transformers: AutoTokenizer.from_pretrained(…).save_pretrained(…).",
        )
    return cast("ModelConfig", reduced.model_config(config))


def _refuse_unknown(directory: Path, config: ModelConfig) -> None:
    """Failure `unsupported` for a model or a tokenizer that needs code which transformers does not have.

    An `auto_map` alone means nothing: many models keep it from the time before transformers had their class.
    The service decides likewise (src/domain/base-models/own-code.ts).
    """
    architecture = (config.get("architectures") or [""])[0]
    kind = str(config.get("model_type"))
    known = text_part.causal_classes().get(kind, "")
    if text_part.find(config) is None:
        if config.get("auto_map") and known.lower() != architecture.lower():
            raise _needs_code("config.json", config["auto_map"])
        decodes = architecture.endswith(CAUSAL_SUFFIXES) and not config.get("is_encoder_decoder")
        if decodes and not known:
            raise Failure(
                "unsupported",
                f"transformers as it is installed has no language model of the type {kind} ({architecture}).",
                "Choose another model. One that is newer than Hone may be supported by a later version.",
                f"config.json: model_type {kind}, architectures {config.get('architectures')}",
            )
    tokenizer = view.read_json(directory, "tokenizer_config.json")
    code = tokenizer.get("auto_map") if isinstance(tokenizer, dict) else None
    if code and view.find(directory, "tokenizer.json") is None:
        raise _needs_code("tokenizer_config.json", code)


def _needs_code(file: str, code: object) -> Failure:
    return Failure(
        "unsupported",
        f"This model needs custom Python code (auto_map in {file}), which Hone never runs.",
        "Choose a model with an architecture that is part of transformers.",
        f"auto_map: {json.dumps(code)[:500]}",
    )


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


def family(config: ModelConfig, task: Supporting, strategy: Supporting) -> str:
    """How the model is trained: `causal` (decoder, also as the text part of a multimodal model),
    `seq2seq` (encoder-decoder) or `extractive` (predicts a span); Failure `unsupported` when the task or the
    strategy does not support it."""
    architecture = (config.get("architectures") or ["unknown"])[0]
    kind = "other"
    decodes = not config.get("is_encoder_decoder") and architecture.endswith(CAUSAL_SUFFIXES)
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


def refuse_reward(config: ModelConfig, strategy: str, reward_model: str | None) -> None:
    """Failure `unsupported` when a reward model would have to be made of a text part, which has no class for
    it (the service refuses it before, in `src/domain/training/judge-request.ts`)."""
    if strategy == "rlhf" and reward_model is None and text_part.find(config) is not None:
        raise Failure(
            "unsupported",
            "A reward model cannot be made of the text part of this model.",
            "Name one in reward_model, or choose the strategy dpo.",
        )


def refuse_shape(config: ModelConfig, family_name: str, shape: str) -> None:
    """Failure `unsupported` for conversations or text with a model that is no decoder (the service refuses
    them before, in `src/domain/base-models/model-pair.ts`)."""
    if shape in ("messages", "text") and family_name != "causal":
        architecture = (config.get("architectures") or ["unknown"])[0]
        raise Failure(
            "unsupported",
            f"{architecture} reads one input and writes one output and cannot be trained on rows of {shape}.",
            "Choose a causal language model (…ForCausalLM), or a dataset of input and output.",
        )


def model_types(task: Supporting, strategy: Supporting) -> list[str]:
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


def exportable(config: ModelConfig, spec: Spec) -> tuple[bool, str]:
    """Whether the model can be exported to GGUF, and why not; Failure `unsupported` when it cannot and the
    request asked for it."""
    if spec.tools is None:
        raise Failure("unsupported", "The job asks for a GGUF and names no converter.", "Set export to none.")
    from trainer.model.architectures import verdict

    possible, reason = verdict(config, spec.tools.converter)
    if not possible and spec.export is not None and spec.export.required:
        raise Failure(
            "unsupported", reason, "Choose another model, or set export to none to train it without a GGUF."
        )
    return possible, reason


def check_weights(directory: Path, name: str) -> None:
    """Failure `bad_model` unless all weights are there as safetensors, where transformers looks for them (the
    service says the same before: src/domain/base-models/files/weight-files.ts)."""
    promised = view.weight_files(directory)
    if promised is not None:
        missing = [file for file in promised if view.find(directory, file) is None]
        if missing:
            raise Failure(
                "bad_model",
                f"{len(missing)} of {len(promised)} weight files of {name} are missing: "
                f"{', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}.",
                "Download it again, or put them into its folder.",
            )
        return
    if view.find(directory, view.WEIGHTS) is not None:
        return
    raise Failure("bad_model", *_elsewhere(sorted(path.name for path in directory.iterdir()), name))


def _elsewhere(files: list[str], name: str) -> tuple[str, str]:
    """What is there instead of the weights, and what to do."""
    safe = [file for file in files if file.endswith(".safetensors")]
    if "adapter_config.json" in files and safe in ([], ["adapter_model.safetensors"]):
        return (
            f"{name} is an adapter (LoRA), not a model: it has no weights of its own.",
            "With merge_adapter, an adapter in a folder is merged into its base first. Or name its base "
            "model (base_model_name_or_path in adapter_config.json).",
        )
    if any(file.startswith("consolidated") for file in safe):
        return (
            f"{name} has its weights only as {safe[0]}, in Mistral's own format with other names.",
            "Take the files model*.safetensors of the same model, which most repositories have beside it.",
        )
    if any(SHARD.search(file) for file in safe):
        return (
            f"{name} has {len(safe)} weight files and no {view.INDEX}, which says what is in which.",
            f"Add {view.INDEX} of the same model to its folder.",
        )
    if safe:
        return (
            f"{name} has its weights in {safe[0]}, and transformers looks for {view.WEIGHTS}.",
            f"Rename it to {view.WEIGHTS} if it has all of them.",
        )
    pickles = [file for file in files if file.endswith((".bin", ".pt", ".pth"))]
    found = f" It has {pickles[0]}, a pickle file, which Hone does not open." if pickles else ""
    return f"{name} has no weights as safetensors.{found}", "Choose a model with *.safetensors files."


def has_adapter_beside(directory: Path) -> bool:
    """Whether files of an adapter lie beside the weights; they are never loaded."""
    return view.find(directory, "adapter_config.json") is not None
