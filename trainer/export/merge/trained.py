"""What a training made of its base model's tensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export.merge import adapter as adapters
from trainer.export.merge import whole_model
from trainer.export.merge.weights import StoredTensor, index_checkpoint
from trainer.model import whole

if TYPE_CHECKING:
    from trainer.protocol.model_config import ModelConfig


def read(folder: Path, base: Path, config: ModelConfig) -> tuple[dict[str, StoredTensor], adapters.Adapter]:
    """The tensors of the model in `base`, with this config, and what the adapter in `folder` changes of them;
    or the tensors of the whole model in `folder`, and no adapter. Failure as of what reads them."""
    tensors = index_checkpoint(base)
    tied = adapters.shares_embedding(config, tensors)
    if whole.is_whole(folder):
        return whole_model.tensors_of(folder, tensors, tied), adapters.Adapter()
    return tensors, adapters.load(folder, tensors, tied)
