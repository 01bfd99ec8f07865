"""Runs llama.cpp's converter over merged tensors, with one tensor in memory at a time.

The converter is lazy: it plans every tensor by its shape and computes it when it is written. Here its file
reader, below all that its classes do with names and tensors, is replaced by one that reads a base tensor and
adds the adapter's update, so that there is never a merged copy of the model.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from trainer.export.gguf.converter_input import display_name
from trainer.export.gguf.packing import pack_arrays_at_once
from trainer.export.gguf.rotation import partial_rotation
from trainer.export.gguf.stubbed_transformers import stubbed_transformers
from trainer.export.merge.adapter import Adapter
from trainer.export.merge.weights import CHUNK_BYTES, TORCH_NAMES, StoredTensor
from trainer.export.tokenizer import pretokenizer
from trainer.export.tokenizer.options import TokenizerOptions
from trainer.protocol.contracts import DIRECT_QUANTIZATIONS
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    from gguf import GGUFWriter, LlamaFileType
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase

    from trainer.export.merge.update import Update

    # A tensor's name, and a function that returns the tensor.
    Item = tuple[str, Callable[[], Tensor | None]]

# Types that the converter writes. F32 and BF16 are for files in between and for tests.
DIRECT_TYPES = ("F32", "BF16", *DIRECT_QUANTIZATIONS)
# Size as float32 above which an unchanged tensor is written in chunks.
LARGE_BYTES = 64 << 20


def load_converter(converter_dir: Path) -> ModuleType:
    """Imports the converter's package and the gguf-py beside it, ahead of any installed one."""
    for folder in (str(converter_dir), str(converter_dir / "gguf-py")):
        if folder in sys.path:
            sys.path.remove(folder)
        sys.path.insert(0, folder)
    loaded = sys.modules.get("gguf")
    if loaded is not None and str(converter_dir) not in str(loaded.__file__):
        raise RuntimeError("Another gguf package was imported before the converter's own.")
    logging.getLogger("hf-to-gguf").setLevel(logging.ERROR)
    with stubbed_transformers():
        return importlib.import_module("conversion")


class Converter(Protocol):
    """What is used of an object of the converter's classes."""

    lazy: bool
    gguf_writer: GGUFWriter

    def filter_tensors(self, item: Item) -> Item | None: ...


class _ReportingTensor:
    """A planned tensor that reports when it is written."""

    def __init__(self, inner: np.ndarray, written: Callable[[int], None]):
        self.inner = inner
        self.written = written
        self.nbytes = inner.nbytes
        self.dtype = inner.dtype
        self.shape = inner.shape

    def tofile(self, handle: BinaryIO) -> None:
        self.inner.tofile(handle)
        size = self.nbytes
        # Frees its memory.
        del self.inner
        self.written(size)


def load_hparams(conversion: ModuleType, source: Path) -> dict[str, Any]:
    """The configuration in `source`, with what the converter or llama.cpp would take for something else."""
    hparams = conversion.ModelBase.load_hparams(source, False)
    # Routers that correct their scores have sigmoids as scores (DeepSeek V3). Where the configuration says no
    # more, llama.cpp tells that only by the numbers of layers and tokens of the published model.
    if hparams.get("topk_method") == "noaux_tc":
        hparams.setdefault("scoring_func", "sigmoid")
    # For gpt2 transformers 5 writes only n_positions; the converter reads n_ctx.
    if "n_positions" in hparams:
        hparams.setdefault("n_ctx", hparams["n_positions"])
    return hparams


@contextmanager
def tensor_source(conversion: ModuleType, items: Callable[[Converter], Iterable[Item]]) -> Iterator[None]:
    """Makes the converter's classes read the tensors `items(model)`, pairs of a name and a function that
    returns the tensor, instead of files. What a class does before and after reading stays its own."""
    original = conversion.ModelBase.index_tensors

    def index_tensors(
        self: Converter, remote_hf_model_id: str | None = None
    ) -> dict[str, Callable[[], Tensor | None]]:
        del remote_hf_model_id
        return dict(filter(None, map(self.filter_tensors, items(self))))

    conversion.ModelBase.index_tensors = index_tensors
    try:
        yield
    finally:
        conversion.ModelBase.index_tensors = original


def model_class(conversion: ModuleType, hparams: dict[str, Any], source: Path) -> type[Any]:
    """The converter's class for the architecture in `hparams`, whose input is in `source`; Failure
    `unsupported` when there is none."""
    architecture = conversion.get_model_architecture(hparams, conversion.ModelType.TEXT)
    try:
        found = conversion.get_model_class(architecture)
    except NotImplementedError as error:
        raise Failure(
            "unsupported",
            f"llama.cpp has no converter for {architecture}.",
            "Choose another model, or set export to none.",
        ) from error
    # A class that chooses another one by the configuration (Mistral 3) hands everything on to its object.
    if "impl" in inspect.get_annotations(found):
        with tensor_source(conversion, lambda model: ()):
            file_type = conversion.base.gguf.LlamaFileType.ALL_F32
            return type(found(source, file_type, source / "model.gguf", hparams=hparams).impl)
    return found


def _file_type(conversion: ModuleType, quantization: str) -> LlamaFileType:
    """The converter's file type for one of DIRECT_TYPES."""
    prefix = "ALL" if quantization == "F32" else "MOSTLY"
    return conversion.base.gguf.LlamaFileType[f"{prefix}_{quantization}"]


def _large(stored: StoredTensor) -> bool:
    """Whether a tensor, such as a large embedding, is written in chunks."""
    return len(stored.shape) == 2 and math.prod(stored.shape) * 4 > LARGE_BYTES


def lazy_tensor(conversion: ModuleType, stored: StoredTensor, load: Callable[[], Tensor]) -> Tensor:
    """The converter's placeholder for a tensor that `load()` returns when it is written."""
    import torch

    lazy = conversion.LazyTorchTensor
    dtype = torch.float32 if stored.floating else getattr(torch, TORCH_NAMES[stored.dtype])
    meta = lazy.meta_with_dtype_and_shape(dtype, stored.shape)
    # The placeholder requires an argument, normally the file.
    return lazy(meta=meta, args=(stored,), func=lambda _: load())


def _by_rows(conversion: ModuleType, stored: StoredTensor, rows: int) -> object:
    """The converter's placeholder for a tensor that is read, quantized and written in chunks."""
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
    source: Path,
    tensors: dict[str, StoredTensor],
    adapter: Adapter,
    destination: Path,
    quantization: str,
    name: str,
    options: TokenizerOptions,
    end_of_turn: int | None = None,
    adds_bos: bool | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    on_progress: Callable[[float], None],
    plan_only: bool = False,
    write: Callable[[Converter, Path, Callable[[float], None]], None] | None = None,
) -> None:
    """Writes `destination` (complete and synced) as GGUF of type `quantization`, one of DIRECT_TYPES.

    `source` is what `converter_input.build` made. Without `tensors` the file has only a vocabulary.
    `end_of_turn` is the token that ends an answer, where it is not the end-of-text token. `adds_bos` says
    whether the tokenizer begins every text with the beginning-of-text token: the file then says so, where the
    converter leaves it to the engines, which differ (llama.cpp and Ollama). `tokenizer` is that
    of `source` where it is loaded already. `on_progress` gets 0…1 after every tensor and may raise to cancel;
    a partial file is removed. With `plan_only` names, shapes and metadata are worked out and nothing is read
    or written. `write(instance, destination, on_progress)` gets the converter's planned file instead of
    having it written. Raises Failure `unsupported` or `bad_tokenizer`.
    """
    import torch

    conversion = load_converter(converter_dir)
    hparams = load_hparams(conversion, source)
    base = model_class(conversion, hparams, source)

    # Large tensors without an update with their placeholders, by the ids of these, which stay theirs.
    untouched: dict[int, tuple[Tensor, StoredTensor]] = {}

    def items(model: Converter) -> Iterator[Item]:
        for tensor_name, stored in tensors.items():
            update = adapter.updates.get(tensor_name)

            def load(stored: StoredTensor = stored, update: Update | None = update) -> Tensor:
                return stored.read() if update is None else update.apply(stored.read())

            def generate(
                stored: StoredTensor = stored,
                load: Callable[[], Tensor] = load,
                update: Update | None = update,
            ) -> Tensor:
                if not model.lazy:
                    return load()
                lazy = lazy_tensor(conversion, stored, load)
                if update is None and stored.floating and _large(stored):
                    untouched[id(lazy)] = lazy, stored
                return lazy

            yield tensor_name, generate

    try:
        with (
            torch.inference_mode(),
            stubbed_transformers(tokenizer),
            tensor_source(conversion, items),
            partial_rotation(hparams),
        ):
            instance = merged_class(conversion, base, source, untouched)(
                source,
                _file_type(conversion, quantization),
                destination,
                hparams=hparams,
                model_name=display_name(name, options.rstrip),
            )
            instance.prepare_tensors()
            instance.prepare_metadata(vocab_only=False)
            _add_to_tokenizer(instance.gguf_writer, options, end_of_turn, adds_bos)
            if not plan_only:
                (write or write_file)(instance, destination, on_progress)
    except BaseException:
        destination.unlink(missing_ok=True)
        raise


def merged_class(
    conversion: ModuleType, base: Any, source: Path, untouched: Mapping[int, tuple[Tensor, StoredTensor]]
) -> type:
    """A subclass of the converter's class `base` that writes `untouched` tensors, by the ids of their
    placeholders, in chunks, and takes tokenizers of other kinds than the class expects."""

    class Merged(base):
        model_arch = base.model_arch
        # transformers neither loads nor trains the layers that predict further tokens.
        no_mtp = True

        def modify_tensors(
            self, data_torch: Tensor, name: str, bid: int | None
        ) -> Iterator[tuple[str, object]]:
            _, stored = untouched.get(id(data_torch), (None, None))
            for new_name, tensor in super().modify_tensors(data_torch, name, bid):
                # Gemma drops the embedding rows without a token and keeps the others unchanged.
                rows = new_name == "token_embd.weight" and base.__name__.startswith("Gemma")
                same = tensor is data_torch or (rows and tensor.shape[1:] == data_torch.shape[1:])
                if stored is not None and same and tensor.shape[0] <= stored.shape[0]:
                    yield new_name, _by_rows(conversion, stored, tensor.shape[0])
                else:
                    yield new_name, tensor

        def set_vocab(self) -> None:
            try:
                super().set_vocab()
            except (AssertionError, AttributeError, FileNotFoundError, KeyError, ValueError):
                # The class expects another kind of tokenizer, or tokens of the published one.
                if not pretokenizer.is_byte_level(source / "tokenizer.json"):
                    raise
                values = self.gguf_writer.kv_data[0]
                for key in [key for key in values if key.startswith("tokenizer.")]:
                    del values[key]
                self._set_vocab_gpt2()

        def _set_vocab_llama_hf(self) -> None:
            # It takes a byte-level vocabulary with `byte_fallback` for SentencePiece's: llama.cpp aborts.
            if pretokenizer.is_byte_level(source / "tokenizer.json"):
                raise FileNotFoundError("tokenizer.json has no vocabulary of SentencePiece.")
            super()._set_vocab_llama_hf()

        def get_vocab_base_pre(self, tokenizer: PreTrainedTokenizerBase) -> str:
            try:
                return super().get_vocab_base_pre(tokenizer)
            except NotImplementedError as error:
                known = pretokenizer.derive(source / "tokenizer.json")
                if known is None:
                    raise Failure(
                        "bad_tokenizer",
                        "llama.cpp has no pre-tokenizer that splits text as this model's tokenizer does.",
                        "Choose a base model with a published tokenizer, or set export to none.",
                    ) from error
                return known

    return Merged


def _add_to_tokenizer(
    writer: GGUFWriter, options: TokenizerOptions, end_of_turn: int | None, adds_bos: bool | None
) -> None:
    """Adds what `convert` is given of the tokenizer to the planned metadata."""
    if options.add_space_prefix is not None:
        writer.kv_data[0].pop("tokenizer.ggml.add_space_prefix", None)
        writer.add_add_space_prefix(options.add_space_prefix)
    if end_of_turn is not None and "tokenizer.ggml.eot_token_id" not in writer.kv_data[0]:
        writer.add_eot_token_id(end_of_turn)
    if adds_bos is not None and "tokenizer.ggml.add_bos_token" not in writer.kv_data[0]:
        writer.add_add_bos_token(adds_bos)


def write_file(
    instance: Converter, destination: Path, on_progress: Callable[[float], None], synced: bool = True
) -> None:
    """Writes what a converter's object has prepared, and unless it is not `synced` brings it to the disk;
    `on_progress` gets 0…1."""
    writer = instance.gguf_writer
    planned = [info for shard in writer.tensors for info in shard.values()]
    total = sum(info.nbytes for info in planned) or 1
    done = 0

    def written(size: int) -> None:
        nonlocal done
        done += size
        on_progress(done / total)

    for info in planned:
        assert info.tensor is not None
        # It has what gguf-py uses of an array.
        info.tensor = _ReportingTensor(info.tensor, written)  # type: ignore[assignment]
    pack_arrays_at_once(writer)
    try:
        writer.write_header_to_file(path=destination)
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file(progress=False)
    finally:
        writer.close()
    if not synced:
        return
    descriptor = os.open(destination, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
