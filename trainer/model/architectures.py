"""Which Hugging Face architectures llama.cpp can convert and generate text with."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.model import text_part
from trainer.model.quantization.quantized import MERGED, method_of

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig

# Modules of the converter for models that are no causal language models: encoders, encoder-decoders,
# diffusion models, speech.
NOT_GENERATIVE_MODULES = frozenset({"bert", "t5", "dream", "llada", "wavtokenizer", "pockettts", "qwen3tts"})
# Words in the names of architectures that are draft models, heads or embedding models.
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
# Suffixes of architectures with a whole language model.
GENERATIVE_SUFFIXES = ("ForCausalLM", "LMHeadModel", "LMHead")


@lru_cache(maxsize=4)
def registrations(converter_dir: Path) -> dict[str, str]:
    """The converter's table from architecture to module, read from its source without running it."""
    source = (Path(converter_dir) / "conversion" / "__init__.py").read_text("utf-8")
    for node in ast.parse(source).body:
        if not isinstance(node, ast.AnnAssign) or node.value is None:
            continue
        if isinstance(node.target, ast.Name) and node.target.id == "TEXT_MODEL_MAP":
            return ast.literal_eval(node.value)
    raise ValueError(f"The converter in {converter_dir} has no table of text models.")


def _generates(architecture: str, module: str) -> bool:
    if module in NOT_GENERATIVE_MODULES or any(word in architecture for word in NOT_GENERATIVE_NAMES):
        return False
    generative = architecture.endswith(GENERATIVE_SUFFIXES) or architecture in text_part.architectures()
    return generative and "." not in architecture


def supported(converter_dir: Path | str) -> list[str]:
    """The architectures (as in config.json) that can be exported, sorted."""
    table = registrations(Path(converter_dir))
    return sorted(name for name, module in table.items() if _generates(name, module))


def verdict(config: ModelConfig, converter_dir: Path | str) -> tuple[bool, str]:
    """Whether a model with this config.json can be exported to GGUF, and why not, as a sentence for the
    user."""
    names = config.get("architectures") or []
    if not names:
        return False, "The model's config.json names no architecture, so it cannot be exported to GGUF."
    architecture = names[0]
    if architecture in text_part.architectures() and text_part.find(config) is None:
        return False, f"{architecture} has no text part that is a language model of its own."
    # The converter looks there first, too (get_model_architecture).
    architecture = ((config.get("text_config") or {}).get("architectures") or names)[0]
    if config.get("is_encoder_decoder"):
        return False, (f"{architecture} is an encoder-decoder model, which llama.cpp cannot generate with.")
    table = registrations(Path(converter_dir))
    if architecture not in table:
        return False, (f"llama.cpp has no converter for {architecture}.")
    if not _generates(architecture, table[architecture]):
        return False, (f"{architecture} does not generate text in llama.cpp.")
    method = method_of(config)
    if method not in (None, *MERGED):
        return False, (
            f"The model's weights are already quantized ({method}), and an adapter can be merged only into "
            "full-precision weights; those of the 16-bit version of the model are."
        )
    return True, ""
