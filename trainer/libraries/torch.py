"""What Hone uses of torch beside its public interface. With another torch than the pinned one the kernels are
off (`trainer.kernels.allowed`); this file is then imported all the same, so it does not refuse it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.utils.tensorboard import SummaryWriter


def linear_by_onednn(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`torch.nn.functional.linear` computed by oneDNN, without gradients. torch chooses MKL for float32, and
    has no public switch for one product."""
    import torch

    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")


def softmax_gradient(of_probabilities: Tensor, probabilities: Tensor) -> Tensor:
    """The gradient of what `probabilities` are the softmax of, along the last dimension. The public way,
    autograd, keeps another copy of the probabilities."""
    import torch

    return torch._softmax_backward_data(of_probabilities, probabilities, -1, probabilities.dtype)


def silu_gradient(of_output: Tensor, given: Tensor) -> Tensor:
    """The gradient of `given` of SiLU, written to `of_output`. Autograd would allocate another one."""
    import torch

    return torch.ops.aten.silu_backward.grad_input(of_output, given, grad_input=of_output)


def reshaped(rows: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`rows` with another `shape`, as a tensor that autograd does not take for a view: one that an autograd
    function returns may not be changed in place. `view` and `reshape` make views, and `clone` copies."""
    import torch

    return torch.ops.aten._unsafe_view(rows, shape)


def keep_from_ddp(model: Module, names: list[str]) -> None:
    """Keeps DDP from broadcasting these parameters and buffers of `model`. DDP's constructor has no argument
    for that."""
    from torch.nn.parallel import DistributedDataParallel

    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, names)


def add_summaries(writer: SummaryWriter, summaries: Iterable[object]) -> None:
    """Adds summaries to a TensorBoard log. `add_hparams` is public and makes a log of its own beside it."""
    for summary in summaries:
        writer._get_file_writer().add_summary(summary)
