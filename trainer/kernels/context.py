"""The context that torch gives to the functions of a `torch.autograd.Function`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Context(Protocol):
    """What torch's own context has; each Function adds what it keeps."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for the backward pass."""

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs have no gradient."""
