"""What Hone uses of gguf-py, llama.cpp's library, beside its public interface. It comes with the converter
and has no pin of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGUFWriter


def replace_packing(writer: GGUFWriter, make: Callable[[Callable[..., bytes]], Callable[..., bytes]]) -> None:
    """Packs the values of a file's metadata by what `make` makes of the writer's own function."""
    vars(writer)["_pack_val"] = make(writer._pack_val)


def chunks_of(tensor: object) -> Sequence[Callable[[], np.ndarray]] | None:
    """The functions that read a planned tensor chunk by chunk; None of one that is read as a whole."""
    return getattr(tensor, "_chunks", None)


def read_whole(tensor: Any) -> Any:
    """The values of a planned tensor."""
    import numpy

    return type(tensor).to_eager(tensor) if hasattr(tensor, "_meta") else numpy.asarray(tensor)


def arguments_of(node: object) -> object | None:
    """What a planned tensor is computed from; None of what is not computed."""
    return getattr(node, "_args", None)
