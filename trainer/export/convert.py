"""Runs llama.cpp's own converter over merged tensors, one tensor in memory at a time.

The converter builds its output lazily: it plans every tensor from shapes alone and computes each one only
while it is written. Here its reading of files is replaced by one that reads a base tensor, adds the
adapter's change and hands it on, so that no merged copy of the model ever exists.
"""

from __future__ import annotations

import importlib
import logging
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

from trainer.failures import Failure

from . import pretokenizer
from .adapter import Adapter
from .light_transformers import light_transformers
from .view import display_name, prefix_space
from .weights import CHUNK_BYTES, StoredTensor

#: types that the converter writes itself; every other one goes through the quantizer
DIRECT_TYPES = {"F32": "ALL_F32", "F16": "MOSTLY_F16", "BF16": "MOSTLY_BF16", "Q8_0": "MOSTLY_Q8_0"}
#: as 32-bit floats; larger tensors that stay as they are never lie in memory as a whole
LARGE_BYTES = 64 << 20


def load_converter(converter_dir: Path):
    """The converter's package, with the gguf-py that lies beside it in front of any installed one."""
    for folder in (str(converter_dir), str(converter_dir / "gguf-py")):
        if folder in sys.path:
            sys.path.remove(folder)
        sys.path.insert(0, folder)
    loaded = sys.modules.get("gguf")
    if loaded is not None and str(converter_dir) not in str(loaded.__file__):
        raise RuntimeError("Another gguf package was imported before the converter's own.")
    logging.getLogger("hf-to-gguf").setLevel(logging.ERROR)
    with light_transformers():
        return importlib.import_module("conversion")


class _Announced:
    """A planned tensor that reports itself once it is written."""

    def __init__(self, inner, written: Callable[[int], None]):
        self.inner = inner
        self.written = written
        self.nbytes = inner.nbytes
        self.dtype = inner.dtype
        self.shape = inner.shape

    def tofile(self, handle) -> None:
        self.inner.tofile(handle)
        size = self.nbytes
        self.inner = None
        self.written(size)


def _hparams(conversion, view: Path) -> dict:
    hparams = conversion.ModelBase.load_hparams(view, False)
    # transformers 5 writes n_positions alone for gpt2, the converter asks for n_ctx
    if "n_positions" in hparams:
        hparams.setdefault("n_ctx", hparams["n_positions"])
    return hparams


def model_class(conversion, hparams: dict):
    """The converter's class for the architecture that `hparams` names. Raises unsupported `Failure`."""
    architecture = conversion.get_model_architecture(hparams, conversion.ModelType.TEXT)
    try:
        return conversion.get_model_class(architecture)
    except NotImplementedError as error:
        raise Failure(
            "unsupported",
            f"llama.cpp has no converter for {architecture}.",
            "Choose another model, or set export to none.",
        ) from error


def _large(stored: StoredTensor) -> bool:
    """Whether a tensor, as an embedding of a large vocabulary, is worth writing piece by piece."""
    return len(stored.shape) == 2 and math.prod(stored.shape) * 4 > LARGE_BYTES


def lazy_tensor(conversion, stored: StoredTensor, load: Callable):
    """The converter's placeholder for a tensor whose values `load()` gives when it is written."""
    import torch

    from .weights import TORCH_NAMES

    lazy = conversion.LazyTorchTensor
    dtype = torch.float32 if stored.floating else getattr(torch, TORCH_NAMES[stored.dtype])
    meta = lazy.meta_with_dtype_and_shape(dtype, stored.shape)
    # the argument stands in for the file: the placeholder asks for one
    return lazy(meta=meta, args=(stored,), func=lambda _: load())


def _by_rows(conversion, stored: StoredTensor, rows: int):
    """The converter's own placeholder for a tensor that is read, quantized and written piece by piece."""
    row_bytes = 4 * math.prod(stored.shape[1:])
    step = max(1, CHUNK_BYTES // row_bytes)
    pieces = [
        lambda start=start: stored.read(range(start, min(start + step, rows))).numpy()
        for start in range(0, rows, step)
    ]
    import numpy

    return conversion.base.gguf.LazyChunkedTensor(pieces, (rows, *stored.shape[1:]), numpy.float32)


def convert(
    *,
    converter_dir: Path,
    view: Path,
    base_dir: Path,
    tensors: dict[str, StoredTensor],
    adapter: Adapter,
    destination: Path,
    quantization: str,
    name: str,
    text_starts_with_special: bool,
    end_of_turn: int | None = None,
    on_progress: Callable[[float], None],
) -> None:
    """Writes `destination` (complete and synced) as GGUF of type `quantization`, one of DIRECT_TYPES.

    `end_of_turn` is the token that ends an answer where it is not the end-of-text token.
    `on_progress` gets 0…1 after every tensor and may raise to end the export; a partial file is removed.
    Raises `Failure` with code unsupported or bad_tokenizer.
    """
    import torch

    conversion = load_converter(converter_dir)
    hparams = _hparams(conversion, view)
    base = model_class(conversion, hparams)
    space = prefix_space(base_dir, text_starts_with_special)

    # large tensors that the adapter leaves alone, by their placeholder, which `kept` keeps from being reused
    untouched: dict[int, StoredTensor] = {}
    kept: list = []

    class Merged(base):  # type: ignore[misc, valid-type]
        model_arch = base.model_arch

        def index_tensors(self, remote_hf_model_id=None):
            del remote_hf_model_id
            found = {}
            for tensor_name, stored in tensors.items():
                update = adapter.updates.get(tensor_name)

                def load(stored=stored, update=update):
                    return stored.read() if update is None else update.apply(stored.read())

                def generate(stored=stored, load=load, update=update):
                    if not self.lazy:
                        return load()
                    lazy = lazy_tensor(conversion, stored, load)
                    if update is None and stored.floating and _large(stored):
                        untouched[id(lazy)] = stored
                        kept.append(lazy)
                    return lazy

                if item := self.filter_tensors((tensor_name, generate)):
                    found[item[0]] = item[1]
            return found

        def modify_tensors(self, data_torch, name, bid):
            stored = untouched.get(id(data_torch))
            for new_name, tensor in super().modify_tensors(data_torch, name, bid):
                # Gemma cuts rows without a token off its embedding and leaves the others as they are
                rows = new_name == "token_embd.weight" and base.__name__.startswith("Gemma")
                same = tensor is data_torch or (rows and tensor.shape[1:] == data_torch.shape[1:])
                if stored is not None and same and tensor.shape[0] <= stored.shape[0]:
                    yield new_name, _by_rows(conversion, stored, tensor.shape[0])
                else:
                    yield new_name, tensor

        def set_vocab(self):
            try:
                super().set_vocab()
            except (FileNotFoundError, ValueError) as error:
                # an architecture that expects a SentencePiece file, with a byte-level tokenizer instead
                if "tokenizer.model" not in str(error):
                    raise
                self._set_vocab_gpt2()

        def get_vocab_base_pre(self, tokenizer) -> str:
            try:
                return super().get_vocab_base_pre(tokenizer)
            except NotImplementedError as error:
                known = pretokenizer.derive(view / "tokenizer.json")
                if known is None:
                    raise Failure(
                        "bad_tokenizer",
                        "llama.cpp has no equal of the way this model's tokenizer splits text into words.",
                        "Choose a base model with a published tokenizer, or set export to none.",
                    ) from error
                return known

    try:
        with torch.inference_mode(), light_transformers():
            instance = Merged(
                view,
                getattr(conversion.base.gguf.LlamaFileType, DIRECT_TYPES[quantization]),
                destination,
                hparams=hparams,
                model_name=display_name(base_dir, name),
            )
            instance.prepare_tensors()
            instance.prepare_metadata(vocab_only=False)
            writer = instance.gguf_writer
            if space is not None:
                key = "tokenizer.ggml.add_space_prefix"
                writer.kv_data[0].pop(key, None)
                writer.add_add_space_prefix(space)
            if end_of_turn is not None and "tokenizer.ggml.eot_token_id" not in writer.kv_data[0]:
                writer.add_eot_token_id(end_of_turn)
            _write(instance, destination, on_progress)
    except BaseException:
        destination.unlink(missing_ok=True)
        raise


def _write(instance, destination: Path, on_progress: Callable[[float], None]) -> None:
    writer = instance.gguf_writer
    planned = [info for shard in writer.tensors for info in shard.values()]
    total = sum(info.nbytes for info in planned) or 1
    done = 0

    def written(size: int) -> None:
        nonlocal done
        done += size
        on_progress(done / total)

    for info in planned:
        info.tensor = _Announced(info.tensor, written)
    try:
        writer.write_header_to_file(path=destination)
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file(progress=False)
    finally:
        writer.close()
    descriptor = os.open(destination, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
