"""Writes the vision and audio encoders of a base model as a GGUF of their own (llama.cpp's mmproj).

Training leaves them as they are, so it holds the base's own tensors in 16 bits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.export.gguf.convert import lazy_tensor, load_converter, load_hparams, tensor_source, write_file
from trainer.export.gguf.stubbed_transformers import stubbed_transformers
from trainer.export.merge.weights import StoredTensor
from trainer.model import reduced, view
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from torch import Tensor

    from trainer.export.gguf.convert import Converter

NAME = "mmproj-F16.gguf"
# How the base's images and sounds are cut, which no other loader reads.
PROCESSORS = ("preprocessor_config.json", "processor_config.json")


def write_vision_file(
    *,
    converter_dir: Path,
    model: Path,
    source: Path,
    tensors: dict[str, StoredTensor],
    destination: Path,
    name: str,
    on_progress: Callable[[float], None],
) -> None:
    """Writes `destination` (complete and synced) from the base's `tensors` and `source`, which
    `converter_input.build` made and which gets the processor's settings from the folder `model`.

    `on_progress` gets 0…1 after every tensor and may raise to cancel; a partial file is removed. Raises
    Failure `unsupported` where the converter has no such file for the architecture, and what the converter
    does.
    """
    import torch

    for file in PROCESSORS:
        settings = view.read_json(model, file)
        if isinstance(settings, dict):
            (source / file).write_text(json.dumps(reduced.model_config(settings)), "utf-8")
    conversion = load_converter(converter_dir)
    hparams = load_hparams(conversion, source)
    architecture = conversion.get_model_architecture(hparams, conversion.ModelType.MMPROJ)
    if architecture not in conversion.MMPROJ_MODEL_MAP:
        raise Failure("unsupported", f"llama.cpp has no converter for the encoders of {architecture}.")
    base = conversion.get_model_class(architecture, mmproj=True)

    def items(model: Converter) -> Iterator[tuple[str, Callable[[], Tensor]]]:
        for tensor_name, stored in tensors.items():
            yield tensor_name, partial(lazy_tensor, conversion, stored, stored.read)

    try:
        with torch.inference_mode(), stubbed_transformers(), tensor_source(conversion, items):
            instance = base(
                source,
                conversion.base.gguf.LlamaFileType.MOSTLY_F16,
                destination,
                hparams=hparams,
                model_name=name,
            )
            instance.prepare_tensors()
            instance.prepare_metadata(vocab_only=False)
            write_file(instance, destination, on_progress)
    except BaseException:
        destination.unlink(missing_ok=True)
        raise
