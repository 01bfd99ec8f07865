"""Makes GGUF files of toys, as another program's user has them."""

from __future__ import annotations

from pathlib import Path

from trainer.export.gguf import converter_input
from trainer.export.gguf.convert import convert
from trainer.export.merge import adapter as adapters
from trainer.export.merge import weights
from trainer.export.tokenizer.options import TokenizerOptions
from trainer.model.config import complete_config
from trainer.tests.export_fixture import CONVERTER


def write_gguf(base: Path, path: Path, quantization: str = "F32") -> Path:
    """Writes the model in `base` as the GGUF `path`, with the chat template of the model."""
    from trainer.data import template
    from trainer.model.tokenizer import load_tokenizer

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


def split_gguf(path: Path, tensors: int) -> list[Path]:
    """Splits the GGUF at `path` into parts of so many tensors, as `llama-gguf-split` does, removes it, and
    returns them."""
    import gguf

    reader = gguf.GGUFReader(path)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(path, architecture, split_max_tensors=tensors)
    for field in reader.fields.values():
        if field.name != "general.architecture" and not field.name.startswith("GGUF."):
            sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    del reader
    path.unlink()
    return sorted(path.parent.glob(f"{path.stem}-*-of-*.gguf"))
