"""Which packages a training depends on, and their installed versions."""

from __future__ import annotations

from importlib import metadata

PACKAGES = (
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "datasets",
    "tokenizers",
    "huggingface_hub",
    "bitsandbytes",
    "tensorboard",
    "unsloth",
)


def versions(names: tuple[str, ...]) -> dict[str, str | None]:
    """The installed version of each package, None where it is absent."""
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found
