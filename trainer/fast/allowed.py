"""Where Hone's own ways to compute may replace the libraries': the one place that decides.

`HONE_PLAIN=1` turns all of them off, so that a run is what transformers, PEFT and TRL make of it.
"""

from __future__ import annotations

import os

PLAIN = "HONE_PLAIN"

# The devices on which each part was measured, at equal losses and with a gain (bench/README.md).
MEASURED = {
    # Adapters, gates, norms and rotations in fewer passes, and the last layer for used tokens alone.
    "fused layers": ("cpu",),
    # Rows without padding, which need attention within rows.
    "padding-free rows": ("cpu",),
    # Padded rows of which only the logits of learned tokens are computed.
    "logits of learned tokens": ("cpu",),
    # Padded rows in parts of similar length.
    "parts of a batch": ("cpu",),
}


def is_plain() -> bool:
    """Whether everything of ours is turned off. Read each time: a warm trainer gets its environment late."""
    return os.environ.get(PLAIN) == "1"


def why_not(part: str, device: str) -> str | None:
    """Why `part`, of MEASURED, is off on a `device` of torch's name, or None where it is on."""
    if is_plain():
        return f"{PLAIN} is set"
    if device not in MEASURED[part]:
        return f"{part} were never measured on the device {device}"
    return None


def device_of(model: object) -> str:
    """The type of device that has the weights of `model`."""
    return next(parameter.device.type for parameter in model.parameters())  # type: ignore[attr-defined]
