"""Weights in the forms of GPTQ and compressed-tensors are read as these define them."""

import torch

from trainer.model import packed
from trainer.tests.model import stored_codes

LAYER = "model.layers.0.mlp.up_proj"


def read(tensors, quantization):
    """The weight of a layer with these tensors, by their endings."""
    named = {f"{LAYER}.{ending}": tensor for ending, tensor in tensors.items()}
    found = [packed.read(key, quantization, named.__contains__, named.__getitem__) for key in named]
    ((name, value),) = (item for item in found if item is not None)
    assert name == f"{LAYER}.weight"
    return value


def weight(rows=16, columns=64):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(5))


def shuffled(columns=64):
    """The group of each column, at random."""
    order = torch.randperm(columns, generator=torch.Generator().manual_seed(3))
    return (torch.arange(columns) // stored_codes.GROUP)[order]


def test_unpacked_codes_have_the_groups_of_their_columns():
    """`weight_g_idx` of compressed-tensors, with `actorder` "group"."""
    of = shuffled()
    numbers, scales, zeros, values = stored_codes.codes(weight(), 8, of)
    integers = stored_codes.compressed("int-quantized", **{**stored_codes.INTEGERS, "num_bits": 8})
    tensors = {
        "weight": (numbers - 128).to(torch.int8),
        "weight_scale": scales,
        "weight_zero_point": (zeros - 128).to(torch.int8),
        "weight_g_idx": of.int(),
    }
    assert torch.equal(read(tensors, integers), values)
    # Where it is not used, all of it is -1.
    numbers, scales, zeros, values = stored_codes.codes(weight(), 8, torch.arange(64) // stored_codes.GROUP)
    tensors |= {
        "weight": (numbers - 128).to(torch.int8),
        "weight_scale": scales,
        "weight_zero_point": (zeros - 128).to(torch.int8),
        "weight_g_idx": torch.full((64,), -1),
    }
    assert torch.equal(read(tensors, integers), values)
