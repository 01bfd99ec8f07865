"""Writes a record of importances as llama.cpp's importance matrix, a GGUF with the names of its tensors.

The converter renames, permutes, splits and stacks the matrices of a model as it writes them. Here it gets
matrices all of whose rows are the importances of its columns: what it would write has them where they belong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export.importance.record import Record
from trainer.export.merge.adapter import Adapter
from trainer.export.merge.weights import StoredTensor
from trainer.export.places import Places
from trainer.libraries.gguf import chunks_of, read_whole
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    import numpy as np
    from gguf.gguf_writer import TensorInfo
    from torch import Tensor

    from trainer.export.gguf.convert import Converter

NAME = "importance.gguf"
# The least importance of a column, as a share of the mean: its inputs may be zero in the measured rows alone.
LEAST = 1e-6


@dataclass(frozen=True)
class _Spread(StoredTensor):
    """A tensor of the model in whose place every row is `columns`, and NaN where there are none."""

    columns: Tensor | None = field(default=None, compare=False)

    def read(self, rows: range | None = None) -> Tensor:
        import torch

        shape = self.shape if rows is None else (len(rows), *self.shape[1:])
        if not self.floating:
            return super().read(rows)
        columns = torch.tensor(float("nan")) if self.columns is None else self.columns
        return columns.expand(shape)


def write_matrix(
    record: Record,
    tensors: Mapping[str, StoredTensor],
    convert_model: Callable[..., None],
    destination: Path,
    on_progress: Callable[[float], None],
) -> dict[str, np.ndarray]:
    """Writes `destination` in the format of llama.cpp's tools/imatrix/imatrix.cpp: of each matrix the sums of
    the squares of its inputs and the number of tokens, for each expert. Returns the means (experts, columns)
    by the names of the matrices; without any nothing is written.

    `convert_model` is `convert` for the model with these `tensors`.
    """
    columns = _by_tensor(record, dict(tensors))
    spread = {
        name: _Spread(
            **{each.name: getattr(stored, each.name) for each in fields(StoredTensor)},
            columns=columns.get(name),
        )
        for name, stored in tensors.items()
    }
    found: dict[str, np.ndarray] = {}

    def collect(instance: Converter, path: Path, progress: Callable[[float], None]) -> None:
        del path
        planned = [item for shard in instance.gguf_writer.tensors for item in shard.items()]
        for done, (name, info) in enumerate(planned):
            if len(info.shape) > 1:
                found.update(_rows_of(name, info))
            info.tensor = None
            progress(done / len(planned))

    convert_model(
        tensors=spread,
        adapter=Adapter(),
        destination=destination.with_name("importance.planned.gguf"),
        quantization="F32",
        on_progress=on_progress,
        write=collect,
    )
    if found:
        _write(found, record.tokens, destination)
    return found


def _by_tensor(record: Record, tensors: dict[str, StoredTensor]) -> dict[str, Tensor]:
    """The importances of a checkpoint's tensors, by their names."""
    places, found = Places(tensors), {}
    for weight, means in record.means.items():
        try:
            parts = places.of(weight)
        except Failure:
            # It is made of the checkpoint's tensors in another way than from their rows.
            continue
        for part in parts:
            if tensors[part.tensor].shape[-1] == len(means):
                found[part.tensor] = means
    return found


def _rows_of(name: str, info: TensorInfo) -> dict[str, np.ndarray]:
    """The importances (experts, columns) of a planned matrix; none where it has none, or its rows are no
    longer alike."""
    import numpy as np

    chunks = chunks_of(info.tensor)
    values = read_whole(info.tensor) if chunks is None else chunks[0]()
    matrices = np.asarray(values).reshape(-1, *values.shape[-2:])
    first = np.ascontiguousarray(matrices[:, 0], np.float32)
    if not np.isfinite(first).all() or not (first == matrices[:, -1]).all():
        return {}
    # llama.cpp makes blocks zero whose columns are all without importance.
    return {name: np.maximum(first, np.float32(LEAST) * first.mean(1, keepdims=True))}


def _write(found: Mapping[str, np.ndarray], tokens: int, destination: Path) -> None:
    import numpy as np
    from gguf import GGUFWriter

    writer = GGUFWriter(destination, "")
    writer.kv_data[0].clear()
    writer.add_type("imatrix")
    writer.add_array("imatrix.datasets", ["training rows"])
    writer.add_uint32("imatrix.chunk_count", 1)
    writer.add_uint32("imatrix.chunk_size", tokens)
    for name, means in found.items():
        writer.add_tensor(f"{name}.in_sum2", means * np.float32(tokens))
        writer.add_tensor(f"{name}.counts", np.full((len(means), 1), tokens, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
