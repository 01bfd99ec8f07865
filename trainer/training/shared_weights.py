"""The trained weights that every rank must have alike."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from trainer.libraries.torch import keep_from_ddp
from trainer.protocol.failures import Failure
from trainer.protocol.rank import Rank

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def ignore_frozen(model: PreTrainedModel) -> None:
    """Keeps DDP from sending frozen weights and buffers: every rank loads them from the same files."""
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    names = [*frozen, *(name for name, _ in model.named_buffers())]
    keep_from_ddp(model, names)


def checksum(model: PreTrainedModel) -> str:
    """SHA-256 of the trained weights of `model`."""
    import torch

    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        if parameter.requires_grad:
            digest.update(name.encode())
            digest.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def refuse_difference(rank: Rank, model: PreTrainedModel) -> None:
    """Failure `workers_differ` when the trained weights of the ranks differ."""
    if not rank.meets:
        return
    sums = rank.all_gather(checksum(model))
    others = [str(number) for number, found in enumerate(sums) if found != sums[0]]
    if others:
        raise Failure(
            "workers_differ",
            evidence=f"Checksums of the trained weights: worker {', '.join(others)} differs from worker 0.",
        )
