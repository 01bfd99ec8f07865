"""The embedding and the output layer of a model with more rows."""

from __future__ import annotations

from pathlib import Path

from trainer.export.merge.adapter import EMBEDDINGS
from trainer.export.merge.streamed import tensor_bytes
from trainer.export.merge.weights import TORCH_NAMES, StoredTensor, make_header, read_header
from trainer.model import view
from trainer.protocol.failures import Failure
from trainer.training.disk_budget import refuse_beyond_free

ADVICE = "(old models and checkpoints, the hub cache)."


def grow_weights(
    folder: Path, rows: int, needed: int, pieces: dict[int, list[int]], spare: float = 0
) -> None:
    """Gives the embedding and the output layer of the model in the view `folder`, which have `rows` rows,
    `needed` rows, and each of those at `pieces` the mean of the rows that are its pieces.

    The files that change are written anew, in place of links, with the memory of the largest of these
    matrices; those of the model stay.
    """
    names = [name for name in view.weight_files(folder) or [view.WEIGHTS] if (folder / name).is_file()]
    files = {name: read_header((folder / name).resolve()) for name in names}
    changing = {name for name, tensors in files.items() if any(map(_is_one, tensors))}
    if not changing:
        raise Failure(
            "unsupported",
            "The embedding of this model has another name than those of models that can have new tokens "
            "(new_tokens).",
            "Leave new_tokens out, or choose another model.",
        )
    size = sum((folder / name).stat().st_size for name in changing)
    refuse_beyond_free(folder, {"the model's files with new tokens": size}, spare, ADVICE)
    for name in sorted(changing):
        _rewrite(folder / name, files[name], rows, needed, pieces)


def _is_one(name: str) -> bool:
    return bool(EMBEDDINGS.search(name))


def _rewrite(
    path: Path, tensors: dict[str, StoredTensor], rows: int, needed: int, pieces: dict[int, list[int]]
) -> None:
    written = []
    for stored in tensors.values():
        shape, size = stored.shape, stored.size
        if _is_one(stored.name):
            if not stored.floating or len(shape) != 2 or shape[0] != rows:
                raise Failure(
                    "unsupported",
                    f"{stored.name} of this model has the shape {shape} ({stored.dtype}), and its "
                    f"configuration says that it has {rows:,} rows (new_tokens).",
                    "Leave new_tokens out, or choose another model.",
                )
            shape, size = (needed, shape[1]), size // rows * needed
        written.append((stored.name, stored.dtype, shape, size))
    made = path.with_suffix(".growing")
    with open(made, "wb") as file:
        file.write(make_header(written))
        for stored in tensors.values():
            if _is_one(stored.name):
                file.write(_grown(stored, needed, pieces))
                continue
            for part in tensor_bytes(stored, None, stored.dtype):
                file.write(part)
    made.replace(path)


def _grown(stored: StoredTensor, needed: int, pieces: dict[int, list[int]]) -> memoryview:
    """The bytes of the matrix with its new rows, in its own type; the mean is computed in float32."""
    import torch

    before = stored.read()
    after = before.new_zeros(needed, before.shape[1])
    after[: len(before)] = before
    for number, parts in pieces.items():
        after[number] = before[parts].mean(0)
    rounded = after.to(getattr(torch, TORCH_NAMES[stored.dtype]))
    return rounded.view(-1).view(torch.uint8).numpy().data
