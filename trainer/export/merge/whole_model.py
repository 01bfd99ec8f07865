"""The tensors of a model all of whose weights were trained, in place of those of its base."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trainer.export.merge.adapter import EMBEDDINGS
from trainer.export.merge.weights import StoredTensor, index_checkpoint
from trainer.model import whole


def tensors_of(folder: Path, base: dict[str, StoredTensor], tied: bool) -> dict[str, StoredTensor]:
    """`base`, the index of the base model, with the tensors of the model in `folder` where it has them; those
    that it has not, as of a part for images, stay. `tied` says that the base's output layer shares the
    embedding's weights. Failure `unsupported` for a tensor without a place in the base."""
    own = index_checkpoint(folder)
    shapes = {name: stored.shape for name, stored in own.items()}
    places = whole.places(shapes, {name: stored.shape for name, stored in base.items()})
    trained = {places[name]: replace(stored, name=places[name]) for name, stored in own.items()}
    found = {name: trained.get(name, stored) for name, stored in base.items()}
    # A second copy of a shared tensor would be as it was before.
    return {
        name: stored
        for name, stored in found.items()
        if name in trained or not (tied and EMBEDDINGS.search(name))
    }
