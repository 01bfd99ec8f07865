"""Which packages a training depends on, and their installed versions."""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[1] / "requirements.txt"
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


@cache
def unpinned(*names: str) -> str | None:
    """Says which of these packages have another version than requirements.txt pins, or None. What reaches
    into a library (docs/releasing.md lists it) is known to be right for that version alone."""
    pins = dict(re.findall(r"^([\w-]+)==([^\s;]+)(?= *$)", REQUIREMENTS.read_text("utf-8"), re.M))
    for name, found in versions(names).items():
        # A build for one device has a suffix, such as 2.14.1+cpu.
        if found is not None and found.split("+")[0] != pins[name]:
            return f"{name} {found} is installed, and Hone is made for {pins[name]}"
    return None
