"""What is made beside the GGUF files of a model: its adapter as a GGUF, and the base's part for images and
sound. Where one cannot be made, a warning says why."""

from __future__ import annotations

from pathlib import Path

from trainer.export import outcome
from trainer.export.exported_model import Model
from trainer.export.gguf import vision_file as vision
from trainer.export.gguf.adapter_gguf import write_adapter
from trainer.export.merged_folder import readme
from trainer.export.shared_base import base_directory
from trainer.model import text_part
from trainer.protocol.failures import Failure
from trainer.protocol.stop import Stopped

ADAPTER_README = "adapter.README.md"


def write_adapter_gguf(model: Model) -> tuple[Path | None, str | None]:
    """The adapter as a GGUF; or None, and why it has no such form."""
    path = model.scratch / "adapter.gguf"
    try:
        obstacle = write_adapter(
            converter_dir=Path(model.tools.converter),
            source=model.source,
            tensors=model.tensors,
            adapter=model.adapter,
            destination=path,
        )
    except Exception as error:
        obstacle = outcome.logged(error).message
    return (path, None) if obstacle is None else (None, obstacle)


def write_adapter_readme(model: Model) -> Path:
    """How the adapter's GGUF is used."""
    path = model.scratch / ADAPTER_README
    base = model.job.spec.model.name.rstrip("/").rsplit("/", 1)[-1]
    path.write_text(readme.of_adapter(f"{base} {model.job.spec.job_id}", base), "utf-8")
    return path


def has_vision_file(model: Model) -> bool:
    """Whether the base is multimodal."""
    return model.known.config is not None and text_part.find(model.known.config) is not None


def write_vision_file(model: Model) -> Path | None:
    """The file of the base's vision and audio encoders; None, with a warning, where there can be none."""
    job = model.job
    path = model.scratch / vision.NAME
    name = job.spec.model.name.rsplit("/", 1)[-1]
    progress = job.track("convert", "the base's part for images and sound")
    try:
        vision.write_vision_file(
            converter_dir=Path(model.tools.converter),
            model=base_directory(job.spec),
            source=model.source,
            tensors=model.tensors,
            destination=path,
            name=name,
            on_progress=progress,
        )
        return path
    except Stopped:
        raise
    except Exception as error:
        outcome.logged(error)
        why = error.message if isinstance(error, Failure) else f"llama.cpp's converter says: {error}"
    job.warn("no_vision_file", f"The GGUF reads text alone; there is no file for images and sound: {why}")
    return None
