"""Which packages a training depends on, and their installed and pinned versions."""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata
from pathlib import Path

from trainer.protocol.failures import Failure

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
    into a library is known to be right for that version alone."""
    pins: dict[str, list[str]] = {}
    # Some have a pin for each Python or platform.
    for name, version in re.findall(r"^([\w-]+)==([^\s;]+)", REQUIREMENTS.read_text("utf-8"), re.M):
        pins.setdefault(name.replace("-", "_"), []).append(version)
    for name, found in versions(names).items():
        # A build for one device has a suffix, such as 2.14.1+cpu.
        if found is not None and found.split("+")[0] not in pins[name]:
            return f"{name} {found} is installed, and Hone is made for {' or '.join(pins[name])}"
    return None


def require(*names: str) -> None:
    """Failure `dependency_missing` when one of these packages has another version than the pinned one."""
    other = unpinned(*names)
    if other is not None:
        advice = "Delete trainer/.venv and run `npm start` again, which installs the pinned versions."
        raise Failure("dependency_missing", f"{other}.", advice)
