"""A model all of whose weights are trained (`adapter: full`): it is saved as a model by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.libraries.transformers import names_when_saved, save_by_own_names
from trainer.model import text_part
from trainer.model.names import by_canonical, canonical
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from trainer.protocol.model_config import ModelConfig

WEIGHTS = "model.safetensors"

Shapes = Mapping[str, tuple[int, ...]]


def is_whole(folder: Path) -> bool:
    """Whether what was trained, in `folder`, is a model and not an adapter."""
    return (folder / "config.json").is_file() and not (folder / "adapter_config.json").is_file()


def save(model: PreTrainedModel, config: ModelConfig, folder: Path) -> None:
    """Saves `model`, which was loaded with this config.json, as transformers loads it. The text part of a
    multimodal model becomes a model of its own."""
    save_by_own_names(model, folder, renamed=text_part.find(config) is not None)


def refuse_unplaced(model: PreTrainedModel, config: ModelConfig, stored: Shapes) -> None:
    """Failure `unsupported` for a loaded model that cannot be saved with the names and shapes of the tensors
    `stored`, from which its GGUF is made."""
    places(names_when_saved(model, renamed=text_part.find(config) is not None), stored)


def places(saved: Shapes, stored: Shapes) -> dict[str, str]:
    """The tensor of `stored` in whose place each of `saved` comes, by its name. Failure `unsupported` where
    there is none."""
    named = by_canonical(stored)
    found: dict[str, str] = {}
    for name, shape in saved.items():
        same = [name] if name in stored else named.get(canonical(name), [])
        if len(same) != 1 or stored[same[0]] != shape:
            raise Failure(
                "unsupported",
                f"transformers saves {name} of this model in another form than its files have it, so no GGUF "
                "can be made of it after all weights were trained.",
                "Set adapter to lora, or export to none.",
            )
        found[name] = same[0]
    return found
