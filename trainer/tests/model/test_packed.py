"""Weights in the forms of GPTQ and compressed-tensors are read as these define them."""

import pytest
import torch

from trainer.model.quantization import packed
from trainer.protocol.failures import Failure
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


def test_an_index_that_is_not_used_is_ignored():
    """All of it is -1."""
    tensors, values = stored_codes.as_int8(weight())
    tensors["weight_g_idx"] = torch.full((64,), -1)
    assert torch.equal(read(tensors, integers(8, form="int-quantized")), values)


def integers(*bits, form="pack-quantized"):
    """The `quantization_config` of integers of `bits`, with a group of layers for each."""
    found = stored_codes.compressed(form, **stored_codes.INTEGERS)
    group = found["config_groups"]["group_0"]
    groups = [{**group, "weights": {**group["weights"], "num_bits": number}} for number in bits]
    return {**found, "config_groups": dict(zip("abc", groups, strict=False))}


@pytest.mark.parametrize("aligned", [False, True], ids=["dense", "aligned"])
@pytest.mark.parametrize("bits", range(1, 9))
def test_integers_are_read_as_either_version_packed_them(bits, aligned):
    tensors, values = stored_codes.as_packed(weight(32, 256), bits, symmetric=False, aligned=aligned)
    assert torch.equal(read(tensors, integers(bits)), values)
    if bits != 7 or not aligned:
        assert torch.equal(read(tensors, integers(bits, 8)), values), "a model may have layers of both"


def test_few_columns_have_the_bits_that_are_stated():
    tensors, values = stored_codes.as_packed(weight(8, 12), 4)
    assert torch.equal(read(tensors, integers(4)), values)


@pytest.mark.parametrize(
    ("columns", "bits", "words"),
    [
        (256, (4,), "24 words for 256 columns of 4 bits are too many or too few"),
        (12, (3,), "2 words for 12 columns of 3 bits can be packed in two ways"),
        (256, (7, 8), "64 words for 256 columns of 7 or 8 bits can be packed in two ways"),
    ],
)
def test_codes_whose_layout_is_not_known_are_refused(columns, bits, words):
    stored = 8 if 8 in bits else 3
    tensors, _ = stored_codes.as_packed(weight(8, columns), stored)
    with pytest.raises(Failure, match=words) as failed:
        read(tensors, integers(*bits))
    assert failed.value.code == "bad_model"


def without(pack, *endings, **changes):
    """A layer that `pack` stores, without some of its tensors and with others."""
    tensors = {**pack(weight())[0], **changes}
    return {ending: tensor for ending, tensor in tensors.items() if ending not in endings}


GPTQ, AWQ, PACKED = stored_codes.as_gptq, stored_codes.as_awq, stored_codes.as_packed
LAST = torch.arange(64).int()


@pytest.mark.parametrize(
    ("tensors", "quantization"),
    [
        (without(GPTQ, "qzeros"), stored_codes.gptq()),
        (without(GPTQ, "scales"), stored_codes.gptq()),
        (without(GPTQ, g_idx=LAST), stored_codes.gptq()),
        (without(GPTQ, g_idx=-LAST), stored_codes.gptq()),
        (without(GPTQ, g_idx=LAST[:0]), stored_codes.gptq()),
        (without(GPTQ, qzeros=LAST[:1, None]), stored_codes.gptq()),
        (without(GPTQ, "g_idx"), {"quant_method": "gptq"}),
        (without(GPTQ, "g_idx"), {"quant_method": "gptq", "bits": None}),
        (without(AWQ, "qzeros"), stored_codes.AWQ),
        (without(PACKED, "weight_scale"), integers(4)),
        (without(PACKED, "weight_shape"), integers(4)),
        (without(PACKED, weight_scale=torch.ones(16, 3)), integers(4)),
        (without(PACKED, weight_g_idx=LAST), integers(4)),
        (without(PACKED, weight_shape=torch.tensor([16])), integers(4)),
    ],
)
def test_malformed_layers_are_refused(tensors, quantization):
    with pytest.raises(Failure, match=f"quantized weights of {LAYER}") as failed:
        read(tensors, quantization)
    assert failed.value.code == "bad_model"


def test_too_little_memory_is_not_taken_for_a_malformed_layer():
    tensors = stored_codes.as_packed(weight())[0]

    def get(key):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")

    with pytest.raises(RuntimeError, match="allocate"):
        packed.read(f"{LAYER}.weight_packed", integers(4), tensors.__contains__, get)


@pytest.mark.parametrize("value", ["x", 0, -4, 64, 3.5, None, [4], True])
def test_bits_that_fit_no_word_are_the_usual_ones(value):
    assert packed.bits_of({"bits": value}) == [4]
    assert packed.bits_of({"config_groups": {"a": {"weights": {"num_bits": value}}}}) == [8]
    assert packed.bits_of({"config_groups": {"a": {"weights": [value]}}}) == [8]
