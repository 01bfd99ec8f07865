"""What Hone changes of huggingface_hub: it reads its environment once, when it is imported."""

from __future__ import annotations

import sys

from trainer.libraries.versions import require

require("huggingface_hub")


def stay_offline() -> None:
    """Takes the client offline where it is imported already."""
    hub = sys.modules.get("huggingface_hub.constants")
    if hub is not None:
        vars(hub)["HF_HUB_OFFLINE"] = True
