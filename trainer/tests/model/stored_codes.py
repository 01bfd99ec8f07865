"""Tiny models stored as GPTQ, AWQ and compressed-tensors publish them, packed number by number."""

import json
import shutil

import torch
from safetensors.torch import load_file, save_file

GROUP = 32
# The values of the 16 codes of FP4.
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def words(numbers, bits, aligned=False):
    """Rows of `numbers` as a stream of `bits` each in words of 32 bits, lowest first, the last one filled; if
    `aligned`, as many in each word as it holds whole."""
    if aligned:
        parts = numbers.split(32 // bits, dim=1)
        return torch.cat([words(part, bits) for part in parts], dim=1)
    rows = []
    for row in numbers.tolist():
        stream = sum((number & ((1 << bits) - 1)) << (at * bits) for at, number in enumerate(row))
        count = -(-len(row) * bits // 32)
        parts = ((stream >> (32 * at)) & 0xFFFFFFFF for at in range(count))
        rows.append([part - (1 << 32) if part >> 31 else part for part in parts])
    return torch.tensor(rows, dtype=torch.int32)


def shuffled(columns):
    """The group of each column, at random."""
    order = torch.randperm(columns, generator=torch.Generator().manual_seed(3))
    return (torch.arange(columns) // GROUP)[order]


def codes(weight, bits, of, symmetric=False):
    """The numbers, scales (float16) and zeros of `weight` (outputs, inputs), whose column `i` is in group
    `of[i]`, and the values that they stand for."""
    groups, top = int(of.max()) + 1, (1 << bits) - 1
    scales = torch.empty(weight.shape[0], groups)
    zeros = torch.empty(weight.shape[0], groups, dtype=torch.int32)
    for group in range(groups):
        part = weight[:, of == group]
        low, high = part.amin(dim=1).clamp(max=0), part.amax(dim=1).clamp(min=0)
        if symmetric:
            scales[:, group] = torch.maximum(high, -low) / (1 << (bits - 1))
            zeros[:, group] = 1 << (bits - 1)
        else:
            scales[:, group] = (high - low) / top
            zeros[:, group] = (-low / scales[:, group]).round().clamp(1, top).int()
    scales = scales.half()
    wide = scales.float()[:, of]
    numbers = ((weight / wide).round().int() + zeros[:, of]).clamp(0, top)
    return numbers, scales, zeros, ((numbers - zeros[:, of]) * wide).half()


def as_gptq(weight, bits=4, form="gptq"):
    """The tensors of a layer by their endings, and its values. Columns are in groups at random, as with
    `desc_act`."""
    of = shuffled(weight.shape[1])
    numbers, scales, zeros, values = codes(weight, bits, of)
    less = 1 if form == "gptq" else 0
    return {
        "qweight": words(numbers, bits).T.contiguous(),
        "qzeros": words(zeros.T - less, bits),
        "scales": scales.T.contiguous(),
        "g_idx": of.int(),
    }, values


def as_gptq_in_order(weight, bits):
    """The same with the columns in order, which needs no `g_idx`."""
    of = torch.arange(weight.shape[1]) // GROUP
    numbers, scales, zeros, values = codes(weight, bits, of)
    return {
        "qweight": words(numbers, bits).T.contiguous(),
        "qzeros": words(zeros.T - 1, bits),
        "scales": scales.T.contiguous(),
    }, values


def as_awq(weight):
    """The tensors of a layer by their endings, and its values."""
    numbers, scales, zeros, values = codes(weight, 4, torch.arange(weight.shape[1]) // GROUP)

    def ordered(numbers):
        return words(numbers.reshape(-1, 8)[:, AWQ_ORDER].reshape(numbers.shape), 4)

    return {
        "qweight": ordered(numbers.T),
        "qzeros": ordered(zeros.T),
        "scales": scales.T.contiguous(),
    }, values


def as_packed(weight, bits=4, symmetric=True, aligned=False, of=None):
    """The tensors of a layer as compressed-tensors stores integers, and its values; column `i` is in group
    `of[i]`. Before version 0.17 codes were `aligned` to words."""
    has_index = of is not None
    if of is None:
        of = torch.arange(weight.shape[1]) // GROUP
    numbers, scales, zeros, values = codes(weight, bits, of, symmetric)
    tensors = {
        "weight_packed": words(numbers, bits, aligned),
        "weight_scale": scales,
        "weight_shape": torch.tensor(weight.shape),
    }
    if not symmetric:
        tensors["weight_zero_point"] = words(zeros.T.contiguous(), bits, aligned).T.contiguous()
    if has_index:
        tensors["weight_g_idx"] = of.int()
    return tensors, values


def as_int8(weight, of=None, has_index=True):
    """The tensors of a layer as compressed-tensors stores integers that are not packed, and its values."""
    if of is None:
        of, has_index = torch.arange(weight.shape[1]) // GROUP, False
    numbers, scales, zeros, values = codes(weight, 8, of)
    tensors = {
        "weight": (numbers - 128).to(torch.int8),
        "weight_scale": scales,
        "weight_zero_point": (zeros - 128).to(torch.int8),
    }
    if has_index:
        tensors["weight_g_idx"] = of.int()
    return tensors, values


def as_float8(weight, rows=1, columns=None):
    """The tensors of a layer as compressed-tensors stores FP8 with a scale for each block of `rows` and
    `columns` (all unless given), and its values."""
    size = (weight.shape[0] // rows, rows, weight.shape[1] // (columns or weight.shape[1]), -1)
    blocks = weight.reshape(size)
    scale = (blocks.abs().amax(dim=(1, 3), keepdim=True) / 448).bfloat16()
    stored = (blocks / scale.float()).to(torch.float8_e4m3fn)
    return {
        "weight": stored.reshape(weight.shape),
        "weight_scale": scale[:, 0, :, 0],
        "input_scale": torch.tensor([0.5]),
    }, (stored.float() * scale.float()).bfloat16().reshape(weight.shape)


def as_float8_by_tensor(weight):
    """The same with one scale."""
    tensors, values = as_float8(weight, weight.shape[0])
    return {**tensors, "weight_scale": tensors["weight_scale"].reshape(1)}, values


def _as_fp4(weight, scales, size):
    """`weight` in FP4 with one of `scales` for each `size` columns: two codes a byte, the first one in the
    lower half; and its values."""
    wide = scales.repeat_interleave(size, dim=1)
    numbers = ((weight / wide)[..., None] - FP4).abs().argmin(dim=-1)
    halves = numbers.to(torch.uint8)
    return halves[:, 0::2] | halves[:, 1::2] << 4, (FP4[numbers] * wide).bfloat16()


def as_nvfp4(weight):
    """The tensors of a layer as compressed-tensors stores NVFP4, and its values: a code times the scale of
    its 16 columns, divided by the layer's scale."""
    whole = 448 * 6 / weight.abs().max()
    scales = (whole * weight.unflatten(1, (-1, 16)).abs().amax(dim=2) / 6).to(torch.float8_e4m3fn)
    stored, values = _as_fp4(weight, scales.float() / whole, 16)
    return {
        "weight_packed": stored,
        "weight_scale": scales,
        "weight_global_scale": whole.reshape(1),
        "input_global_scale": torch.tensor([3.0]),
    }, values


def as_mxfp4(weight):
    """The tensors of a layer as compressed-tensors stores MXFP4, and its values: a code times the power of
    two of its 32 columns, of which the exponent is stored plus 127."""
    exponents = weight.unflatten(1, (-1, 32)).abs().amax(dim=2).log2().floor() - 2
    stored, values = _as_fp4(weight, torch.exp2(exponents), 32)
    return {"weight_packed": stored, "weight_scale": (exponents + 127).to(torch.uint8)}, values


def compressed(form, **weights):
    """The `quantization_config` of compressed-tensors for linear layers of `form`."""
    group = {"targets": ["Linear"], "weights": {"symmetric": True, **weights}, "format": form}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "quantization_status": "compressed",
        "ignore": ["lm_head"],
        "config_groups": {"group_0": group},
    }


def gptq(bits=4, form="gptq"):
    """The `quantization_config` of GPTQ."""
    found = {"quant_method": "gptq", "bits": bits, "group_size": GROUP, "desc_act": True, "sym": False}
    return {**found, "checkpoint_format": form}


AWQ = {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True, "version": "gemm"}
INTEGERS = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": GROUP}
INT8 = {**INTEGERS, "num_bits": 8, "symmetric": False}
FLOAT8 = {"num_bits": 8, "type": "float"}
NVFP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}
MXFP4 = {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32}
# How a layer is stored, and what config.json says of it.
KINDS = {
    "gptq": (as_gptq, gptq()),
    "gptq 2 bits": (lambda weight: as_gptq(weight, 2), gptq(2)),
    "gptq 3 bits": (lambda weight: as_gptq(weight, 3), gptq(3)),
    "gptq 8 bits": (lambda weight: as_gptq(weight, 8), gptq(8)),
    "gptq in order": (lambda weight: as_gptq_in_order(weight, 4), gptq()),
    "gptq 3 bits in order": (lambda weight: as_gptq_in_order(weight, 3), gptq(3)),
    "gptq_v2": (lambda weight: as_gptq(weight, form="gptq_v2"), gptq(form="gptq_v2")),
    "awq": (as_awq, AWQ),
    "packed": (as_packed, compressed("pack-quantized", **INTEGERS)),
    "packed 3 bits": (
        lambda weight: as_packed(weight, 3),
        compressed("pack-quantized", **{**INTEGERS, "num_bits": 3}),
    ),
    "packed with zeros": (
        lambda weight: as_packed(weight, symmetric=False),
        compressed("pack-quantized", **{**INTEGERS, "symmetric": False}),
    ),
    "packed 3 bits before 0.17": (
        lambda weight: as_packed(weight, 3, symmetric=False, aligned=True),
        compressed("pack-quantized", **{**INTEGERS, "num_bits": 3, "symmetric": False}),
    ),
    "packed with order": (
        lambda weight: as_packed(weight, symmetric=False, of=shuffled(weight.shape[1])),
        compressed("pack-quantized", **{**INTEGERS, "symmetric": False, "actorder": "group"}),
    ),
    "int8": (as_int8, compressed("int-quantized", **INT8)),
    "int8 with order": (
        lambda weight: as_int8(weight, shuffled(weight.shape[1])),
        compressed("naive-quantized", **{**INT8, "actorder": "group"}),
    ),
    "int8 by rows": (
        lambda weight: as_int8(weight, torch.zeros(weight.shape[1], dtype=torch.int64), has_index=False),
        compressed("int-quantized", **{**INT8, "strategy": "channel", "group_size": None}),
    ),
    "float8": (as_float8, compressed("float-quantized", **FLOAT8, strategy="channel")),
    "float8 by blocks": (
        lambda weight: as_float8(weight, 16, 32),
        compressed("float-quantized", **FLOAT8, strategy="block", block_structure=[16, 32]),
    ),
    "float8 by tensors": (as_float8_by_tensor, compressed("naive-quantized", **FLOAT8, strategy="tensor")),
    "nvfp4": (as_nvfp4, compressed("nvfp4-pack-quantized", **NVFP4)),
    "mxfp4 packed": (as_mxfp4, compressed("mxfp4-pack-quantized", **MXFP4)),
}


def store(source, folder, kind):
    """The model in `source` with its linear layers stored as `kind`, in `folder`; returns the values of its
    tensors."""
    shutil.copytree(source, folder)
    pack, quantization = KINDS[kind]
    stored, values = {}, {}
    for name, value in load_file(source / "model.safetensors").items():
        values[name] = stored[name] = value
        if "proj" in name:
            tensors, values[name] = pack(value)
            del stored[name]
            stem = name.removesuffix(".weight")
            stored.update({f"{stem}.{ending}": tensor for ending, tensor in tensors.items()})
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), "quantization_config": quantization}
    path.write_text(json.dumps(config))
    return values
