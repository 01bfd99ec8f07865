"""What Hone reads of weights that bitsandbytes quantized to 4 bits: it has no public accessors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.libraries.versions import require

if TYPE_CHECKING:
    from bitsandbytes.functional import QuantState
    from torch.nn import Module

require("bitsandbytes")


def quantization_of(base: Module) -> QuantState | None:
    """The state of the quantization of a linear layer's weight in 4 bits; None of other weights."""
    return getattr(base.weight, "quant_state", None)


def is_repacked(quantization: QuantState) -> bool:
    """Whether the weight is packed in another order, for answers alone, as on some processors."""
    return getattr(quantization, "packing_format_for_cpu", False)
