"""Makes GGUF files of toys, as another program's user has them."""

from __future__ import annotations

from pathlib import Path

from trainer.export import adapter as adapters
from trainer.export import weights
from trainer.export.gguf import converter_input
from trainer.export.gguf.convert import convert
from trainer.export.tokenizer.options import TokenizerOptions
from trainer.model.config import complete_config
from trainer.tests.export_fixture import CONVERTER


def write_gguf(base: Path, path: Path, quantization: str = "F32") -> Path:
    """Writes the model in `base` as the GGUF `path`, with the chat template of the model."""
    from trainer.data import template
    from trainer.export.tokenizer.load import load_tokenizer

    source = path.with_suffix(".input")
    source.mkdir()
    tokenizer = load_tokenizer(base)
    chosen = template.choose(tokenizer, complete_config(base), None) if tokenizer.chat_template else None
    converter_input.build(base, source, chosen, complete_config(base))
    convert(
        converter_dir=CONVERTER,
        source=source,
        tensors=weights.index_checkpoint(base),
        adapter=adapters.Adapter(),
        destination=path,
        quantization=quantization,
        name="toy",
        options=TokenizerOptions(),
        on_progress=lambda share: None,
    )
    return path
