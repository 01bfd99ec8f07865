"""A model whose files are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data.template import Template
from trainer.export.kept import Kept
from trainer.export.merge.adapter import Adapter
from trainer.export.merge.weights import StoredTensor
from trainer.protocol.context import JobContext

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from trainer.protocol.contracts import Tools


@dataclass(frozen=True)
class Model:
    """What the files are made of. `convert` is `gguf.convert.convert` for this model."""

    job: JobContext
    scratch: Path
    source: Path
    template: Template
    tokenizer: PreTrainedTokenizerBase
    known: Kept
    tensors: dict[str, StoredTensor]
    adapter: Adapter
    convert: Callable[..., None]

    @property
    def tools(self) -> Tools:
        """The programs that reach llama.cpp."""
        tools = self.job.spec.tools
        assert tools is not None
        return tools

    @property
    def intermediate(self) -> Path:
        """The 16-bit file that further types are quantized from where no file of the export will do."""
        return self.scratch / "intermediate.gguf"
