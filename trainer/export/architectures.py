"""Which Hugging Face architectures llama.cpp can convert, run and generate text with."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

#: Modules of the converter whose models do not generate text from text: encoders, encoder-decoders,
#: diffusion models (a whole answer at once), speech.
NOT_GENERATIVE_MODULES = frozenset({"bert", "t5", "dream", "llada", "wavtokenizer", "pockettts", "qwen3tts"})
#: Words in the name of an architecture that is a draft, a head or an embedder, not a language model.
NOT_GENERATIVE_NAMES = (
    "Encoder",
    "Bidirectional",
    "Eagle3",
    "Draft",
    "DSpark",
    "Speculator",
    "Assistant",
    "SequenceClassification",
    "MaskedLM",
    "AudioTokenizer",
    "RND1",
)
#: What an architecture is called that carries a text model as a whole.
GENERATIVE_SUFFIXES = ("ForCausalLM", "LMHeadModel", "LMHead")


@lru_cache(maxsize=4)
def registrations(converter_dir: Path) -> dict[str, str]:
    """The converter's own table from architecture to module, read without running it."""
    source = (Path(converter_dir) / "conversion" / "__init__.py").read_text("utf-8")
    for node in ast.parse(source).body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == "TEXT_MODEL_MAP":
            return ast.literal_eval(node.value)
    raise ValueError(f"The converter in {converter_dir} has no table of text models.")


def _generates(architecture: str, module: str) -> bool:
    if module in NOT_GENERATIVE_MODULES or any(word in architecture for word in NOT_GENERATIVE_NAMES):
        return False
    return architecture.endswith(GENERATIVE_SUFFIXES) and "." not in architecture


def supported(converter_dir: Path | str) -> list[str]:
    """Architecture names (as in a `config.json`) that can be exported and run, sorted."""
    table = registrations(Path(converter_dir))
    return sorted(name for name, module in table.items() if _generates(name, module))


def verdict(config: dict, converter_dir: Path | str) -> tuple[bool, str]:
    """Whether a model with this `config.json` can become a GGUF, and why not.

    The reason is a full sentence for the user and empty when the answer is yes.
    """
    names = config.get("architectures") or []
    if not names:
        return False, "The model's config.json names no architecture, so it cannot be exported to GGUF."
    architecture = names[0]
    if config.get("is_encoder_decoder"):
        return False, (
            f"{architecture} is an encoder-decoder model, which llama.cpp cannot generate with; "
            "set export to none to train it without a GGUF."
        )
    table = registrations(Path(converter_dir))
    if architecture not in table:
        return False, (
            f"llama.cpp has no converter for {architecture}; set export to none to train it without a GGUF."
        )
    if architecture.endswith("ForConditionalGeneration"):
        return False, (
            f"{architecture} is a model for images or sound, whose text part alone cannot be exported here; "
            "choose its text-only version, or set export to none."
        )
    if not _generates(architecture, table[architecture]):
        return False, (
            f"{architecture} does not generate text in llama.cpp; set export to none to train it without "
            "a GGUF."
        )
    quantization = config.get("quantization_config")
    if quantization:
        method = quantization.get("quant_method", "quantized")
        return False, (
            f"The model's weights are already quantized ({method}), and an adapter can be merged only into "
            "full-precision weights; choose the 16-bit version of the model, or set export to none."
        )
    return True, ""
