"""Writes the adapter as a separate GGUF, so that the merged model minus the adapter answers as the base.

The converter renames, permutes and splits the pairs of low-rank factors as it does the merged tensors. The
factors include the scale: `adapter.lora.alpha` is 0, which llama.cpp reads as "no further scale"
(src/llama-adapter.h).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trainer.export.gguf.convert import load_converter, load_hparams, model_class, tensor_source
from trainer.export.gguf.rotation import partial_rotation
from trainer.export.gguf.stubbed_transformers import stubbed_transformers
from trainer.export.merge.adapter import Adapter
from trainer.export.merge.weights import StoredTensor

if TYPE_CHECKING:
    from torch import Tensor

    from trainer.export.gguf.convert import Converter


class Pair(Protocol):
    """The converter's pair of low-rank factors, its LoraTorchTensor."""

    def get_lora_A_B(self) -> tuple[Tensor, Tensor]: ...


# Matrices of Gemma 3n and 4 that llama.cpp multiplies without an adapter (gemma3n.cpp and gemma4.cpp in
# src/models).
UNREAD = ("per_layer_model_proj.", "altup_proj.", "altup_unembd_proj.", "altup_router.")


class _Unread(Exception):
    """An update of a matrix to which llama.cpp applies no adapter."""


def write_adapter(
    *,
    converter_dir: Path,
    source: Path,
    tensors: dict[str, StoredTensor],
    adapter: Adapter,
    destination: Path,
) -> str | None:
    """Writes `destination`; returns None, or why this adapter has no GGUF form (nothing is written then)."""
    if not adapter.updates:
        return "all of its weights were trained, so there is no adapter"
    if adapter.replaces_tensors:
        return "its adapter replaces whole tensors or rows of them"
    if adapter.has_magnitudes:
        return "its adapter is a DoRA, whose magnitudes llama.cpp does not apply"
    if adapter.changes_experts:
        return "its adapter changes experts"
    import torch

    conversion = load_converter(converter_dir)
    with stubbed_transformers():
        pair_type = importlib.import_module("convert_lora_to_gguf").LoraTorchTensor
    hparams = load_hparams(conversion, source)
    base = model_class(conversion, hparams, source)
    gguf = conversion.base.gguf

    class AdapterModel(base):  # type: ignore[misc, valid-type]
        model_arch = base.model_arch
        no_mtp = True

        def set_vocab(self) -> None:
            pass

        def set_type(self) -> None:
            self.gguf_writer.add_type(gguf.GGUFType.ADAPTER)
            self.gguf_writer.add_string(gguf.Keys.Adapter.TYPE, "lora")

        def set_gguf_parameters(self) -> None:
            self.gguf_writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, 0.0)

        def generate_extra_tensors(self) -> tuple[()]:
            return ()

        def get_tensors(self) -> Iterator[tuple[str, Pair]]:
            for name, update in adapter.updates.items():
                b, a = update.factors(tensors[name].shape[0])
                pair = pair_type(a.contiguous(), b.contiguous())
                item = self.filter_tensors((name, lambda pair=pair: pair))
                if item is not None:
                    yield item[0], item[1]()

        def modify_tensors(
            self, data_torch: Pair, name: str, bid: int | None
        ) -> Iterator[tuple[str, Tensor]]:
            for new_name, pair in super().modify_tensors(data_torch, name, bid):
                if any(part in new_name for part in UNREAD):
                    raise _Unread(f"llama.cpp applies no adapter to {new_name}")
                a, b = pair.get_lora_A_B()
                yield f"{new_name}.lora_a", a.contiguous()
                yield f"{new_name}.lora_b", b.contiguous()

    def items(model: Converter) -> Iterator[tuple[str, Callable[[], None]]]:
        del model
        return ((name, lambda: None) for name in tensors)

    try:
        with torch.inference_mode(), tensor_source(conversion, items), partial_rotation(hparams):
            instance = AdapterModel(
                source,
                gguf.LlamaFileType.ALL_F32,
                destination,
                hparams=hparams,
                model_name="adapter",
                eager=True,
            )
            instance.write()
    except _Unread as error:
        destination.unlink(missing_ok=True)
        return str(error)
    except (NotImplementedError, AssertionError, KeyError, TypeError, ValueError) as error:
        destination.unlink(missing_ok=True)
        return (
            f"the tensors of its architecture cannot be split into factors ({type(error).__name__}: {error})"
        )
    return None
