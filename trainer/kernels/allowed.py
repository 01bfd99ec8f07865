"""Where Hone's own ways to compute may replace the libraries': the one place that decides.

`HONE_PLAIN=1` turns all of them off, so that a run is what transformers, PEFT and TRL make of it.
"""

from __future__ import annotations

import os

from trainer.libraries.versions import unpinned

PLAIN = "HONE_PLAIN"

# The devices on which each part was measured to have equal losses and a gain (bench/LOG.md). A model is
# loaded into RAM and moves to its GPU later: what counts is the device that was chosen, not where it lies.
MEASURED = {
    # Adapters, gates, norms and rotations in fewer passes, and the last layer for used tokens alone.
    "fused layers": ("cpu",),
    # Rows without padding. On an H100 a Llama of a billion parameters took five times as long with them, as
    # attention there is a loop over rows.
    "padding-free rows": ("cpu",),
    # Padded rows of which only the logits of learned tokens are computed. On an H100, with our LoRA layers
    # beside it (which are off there now), it took a quarter of the memory and 0.8 of the time with a
    # vocab_size of 151,936; with one of 16,000, 0.92 of the memory and no less time.
    "logits of learned tokens": ("cpu", "cuda"),
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
    other = unpinned("torch", "transformers", "peft")
    if other is not None:
        return other
    if device not in MEASURED[part]:
        return f"{part} are not used on the device {device}"
    return None
