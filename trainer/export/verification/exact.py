"""Checks every tensor and every metadata value of finished GGUF files.

The converter plans the file a second time, from tensors that are read and merged apart from the export
(`independent.py`). Whatever the files have of it is compared: names, shapes, weights as their type rounds
them, and the metadata, which says how llama.cpp computes and tokenizes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.export.gguf.header import Header, read_header
from trainer.export.merge.adapter import Adapter
from trainer.export.merge.weights import StoredTensor
from trainer.export.verification.independent import LowRank, ReadAgain, low_rank_updates
from trainer.export.verification.tensor_check import difference
from trainer.libraries.gguf import arguments_of, chunks_of, read_whole
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    import numpy as np
    from gguf.gguf_writer import GGUFValue, TensorInfo

    from trainer.export.gguf.convert import Converter


# Metadata that differs between files of one model.
OF_THE_TYPE = ("general.file_type", "general.quantization_version")
# Wrong tensors and values that a message names.
NAMED = 3


@dataclass
class Checked:
    """A file and what is wrong with it; `source` is the type of the file that it was quantized from, and
    `importance` that of the columns of tensors (experts, columns) by which it was."""

    header: Header
    source: str | None
    importance: Mapping[str, np.ndarray] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    # How many more there are.
    more: int = 0

    def note(self, what: str) -> None:
        """Keeps what is wrong."""
        if len(self.wrong) < NAMED:
            self.wrong.append(what)
        else:
            self.more += 1

    def reason(self) -> str | None:
        """What is wrong, as sentences; None if nothing is."""
        if not self.wrong:
            return None
        more = f" So are {self.more} more." if self.more else ""
        return f"{' '.join(self.wrong)}{more}"


def check_files(
    files: dict[str, tuple[Path, str | None]],
    convert_model: Callable[..., None],
    tensors: dict[str, StoredTensor],
    adapter: Adapter,
    folder: Path,
    scratch: Path,
    on_progress: Callable[[float], None],
    importance: Mapping[str, Mapping[str, np.ndarray]] | None = None,
) -> dict[str, str | None]:
    """What is wrong with each of `files` (by name: path, and the type of the file that it was quantized
    from), None if nothing is.

    `convert_model` is `convert` for this model, `tensors` its base and `adapter` the one that was merged, of
    which only what is no plain LoRA is used: that is read from `folder`. `importance` has, of files that were
    quantized by it, that of the columns of their tensors. Raises what `convert` does, and what
    `on_progress` raises.
    """
    updates: dict[str, Any] = {**adapter.updates, **low_rank_updates(folder, tensors)}
    checked: dict[str, Checked] = {}
    found: dict[str, str | None] = {}
    for name, (path, source) in files.items():
        try:
            checked[name] = Checked(read_header(path), source, (importance or {}).get(name, {}))
        except Failure as failure:
            found[name] = failure.message

    def compare(instance: Converter, destination: Path, progress: Callable[[float], None]) -> None:
        del destination
        _compare(instance, list(checked.values()), updates, tensors, progress)

    if checked:
        convert_model(
            tensors={name: ReadAgain.of(stored) for name, stored in tensors.items()},
            adapter=Adapter(updates),
            destination=scratch / "planned.gguf",
            quantization="F32",
            on_progress=on_progress,
            write=compare,
        )
    return {name: checked[name].reason() if name in checked else found[name] for name in files}


def _compare(
    instance: Converter,
    files: list[Checked],
    updates: Mapping[str, object],
    base: dict[str, StoredTensor],
    progress: Callable[[float], None],
) -> None:
    """Compares what a converter's `instance` would write with what is in the files."""
    planned = {name: info for shard in instance.gguf_writer.tensors for name, info in shard.items()}
    # What a converter has computed with while it planned does not tell where it is from.
    early = {name for name, update in updates.items() if isinstance(update, LowRank) and update.applied}
    sources = {name: set(_sources(info.tensor)) or early for name, info in planned.items()}
    _compare_metadata(instance.gguf_writer.kv_data[0], files)
    _account(sources, updates, base, files)
    for file in files:
        for name in file.header.tensors.keys() - planned.keys():
            file.note(f"The tensor {name} is not one of the model's.")
    total, done = sum(info.nbytes for info in planned.values()) or 1, 0
    for name, info in planned.items():
        at = [file for file in files if _is_there(file, name, info)]
        given = (updates.get(source) for source in sources[name])
        changed = [update for update in given if isinstance(update, LowRank)]
        rows = _rows(info)
        slack = max((update.rounding() for update in changed), default=(0.0, 0.0))
        for file in at:
            try:
                wrong = difference(file.header, name, rows, slack, file.source, file.importance.get(name))
            except (ValueError, KeyError, NotImplementedError) as error:
                wrong = f"cannot be read ({type(error).__name__}: {error})"
            if wrong is not None:
                said = ", ".join(sorted(sources[name])[:2])
                file.note(f"{name}{f' (of {said})' if said else ''} {wrong}.")
        done += info.nbytes
        info.tensor = None
        progress(done / total)


def _is_there(file: Checked, name: str, info: TensorInfo) -> bool:
    """Whether `file` has the tensor in the planned shape; notes it if not."""
    entry = file.header.tensors.get(name)
    if entry is None:
        file.note(f"The tensor {name} is missing.")
        return False
    if tuple(entry.shape) != tuple(info.shape):
        file.note(f"{name} has the shape {tuple(entry.shape)}, not {tuple(info.shape)}.")
        return False
    return True


def _rows(info: TensorInfo) -> Callable[[int, int], np.ndarray]:
    """A function for rows of a planned tensor, as float32 (rows, columns), called in their order. A large
    tensor that is only copied is read in its chunks."""
    import numpy as np
    from gguf import dequantize

    tensor: Any = info.tensor
    kind = info.dtype
    chunks = chunks_of(tensor)
    if chunks is not None:
        pieces: Iterator[Callable[[], np.ndarray]] = iter(())
        kept = np.empty((0, tensor.shape[-1]), np.float32)

        def chunked(start: int, end: int) -> np.ndarray:
            nonlocal kept, pieces
            if start == 0:
                pieces, kept = iter(chunks), kept[:0]
            while len(kept) < end - start:
                kept = np.concatenate([kept, next(pieces)()])
            found, kept = kept[: end - start], kept[end - start :]
            return found

        return chunked
    whole = read_whole(tensor)
    if kind.name not in ("F32", "F16"):
        # Experts that the checkpoint has quantized are copied as they are.
        whole = dequantize(whole.view(np.uint8), kind)
    whole = whole.astype(np.float32, copy=False).reshape(-1, info.shape[-1])
    return lambda start, end: whole[start:end]


def _sources(tensor: Any) -> Iterator[str]:
    """The names of the base's tensors that a planned one is made of."""
    seen: set[int] = set()
    waiting = [tensor]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, StoredTensor):
            yield node.name
        elif isinstance(node, (list, tuple)):
            waiting += node
        elif (arguments := arguments_of(node)) is not None:
            waiting.append(arguments)


def _account(
    sources: dict[str, set[str]],
    updates: Mapping[str, object],
    base: dict[str, StoredTensor],
    files: list[Checked],
) -> None:
    """Notes changes that no tensor of the file has, and biases of layers that it has without them."""
    used = set().union(*sources.values()) if sources else set()
    unused = sorted(updates.keys() - used)
    lost = [f"The adapter's change of {name} is in no tensor of the file." for name in unused]
    for name in sorted(base.keys() - used):
        if name.endswith(".bias") and f"{name.removesuffix('bias')}weight" in used:
            lost.append(f"The bias {name} is in no tensor of the file.")
    for what in lost:
        for file in files:
            file.note(what)


def _compare_metadata(planned: Mapping[str, GGUFValue], files: list[Checked]) -> None:
    """Notes metadata that is not the planned one."""
    wanted = {key: _plain(entry.value) for key, entry in planned.items() if key not in OF_THE_TYPE}
    for file in files:
        for key, value in wanted.items():
            if key not in file.header.metadata:
                file.note(f"The metadata {key} is missing.")
            elif not _same(value, _plain(file.header.metadata[key])):
                file.note(_different(key, value, _plain(file.header.metadata[key])))
        prefixes = (f"{file.header.architecture}.", "tokenizer.")
        for key in file.header.metadata.keys() - wanted.keys():
            if key.startswith(prefixes):
                file.note(f"The metadata {key} is not the model's.")


def _plain(value: object) -> object:
    """A metadata value with texts as str, arrays as lists and enumerations as integers."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


def _same(wanted: object, found: object) -> bool:
    """Whether two values are one, floats as float32, in which the file has them."""
    if isinstance(wanted, list) and isinstance(found, list):
        return wanted == found or (len(wanted) == len(found) and all(map(_same, wanted, found)))
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return struct.pack("<f", wanted) == struct.pack("<f", found)
    return bool(wanted == found)


def _different(key: str, wanted: object, found: object) -> str:
    if isinstance(wanted, list) and isinstance(found, list):
        if len(wanted) != len(found):
            return f"{key} has {len(found)} values, not {len(wanted)}."
        at = next(at for at, pair in enumerate(zip(wanted, found, strict=True)) if not _same(*pair))
        return f"{key}[{at}] is {str(found[at])[:80]!r}, not {str(wanted[at])[:80]!r}."
    return f"{key} is {str(found)[:80]}, not {str(wanted)[:80]}."
