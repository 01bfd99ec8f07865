"""The dequantized values of packed integers and floats, as GPTQ, AWQ and compressed-tensors publish them,
without those packages."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trainer.protocol.failures import Failure, explain

if TYPE_CHECKING:
    from torch import Tensor, dtype

    from trainer.protocol.model_config import Quantization

Get = Callable[[str], "Tensor"]

# The forms of each method that are read here, as `forms` calls them.
FORMS: dict[str, tuple[str, ...]] = {
    "gptq": ("gptq", "gptq_v2"),
    "awq": ("gemm",),
    "compressed-tensors": (
        *("dense", "pack-quantized", "int-quantized", "float-quantized", "naive-quantized"),
        *("nvfp4-pack-quantized", "mxfp4-pack-quantized"),
    ),
}
# The packed weight of a layer, and the tensors that belong to it.
PACKED = re.compile(r"\.(qweight|weight_packed)$")
PARAMETERS = re.compile(
    r"\.(qzeros|scales|g_idx)$|\.weight_(scale|zero_point|shape|g_idx|global_scale)$"
    r"|\.(input|output|[kqv])_(global_)?(scale|zero_point)$"
)
# Where AWQ packs the eight columns of a word of 32 bits.
AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)
# The values of the eight codes of FP4 without a sign.
FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def forms(stored: Quantization) -> list[str]:
    """How the weights are laid out of a model with this `quantization_config`, of which `quant_method` is in
    FORMS (src/domain/base-models/gguf/gguf-verdict.ts)."""
    method = stored.get("quant_method")
    if method == "gptq":
        return [str(stored.get("checkpoint_format") or "gptq")]
    if method == "awq":
        return [str(stored.get("version") or stored.get("checkpoint_format") or "gemm").lower()]
    groups = _groups(stored) or [{}]
    found = [str(group.get("format") or stored.get("format") or "unknown") for group in groups]
    sparse = (stored.get("sparsity_config") or {}).get("format")
    if sparse not in (None, "dense"):
        found.append(str(sparse))
    if (stored.get("transform_config") or {}).get("config_groups"):
        found.append("transformed")
    return list(dict.fromkeys(found))


def read(key: str, stored: Quantization, has: Callable[[str], bool], get: Get) -> tuple[str, Tensor] | None:
    """The name and the dequantized values of the weight that is stored in the tensor `key`, in the type of
    its scales or bfloat16; any other tensor as it is; None for scales, zero points and the like.

    `stored` is the model's `quantization_config`, and `get` reads the tensors for which `has` is true.
    Failure `bad_model` for tensors that do not fit each other, or are absent.
    """
    if PARAMETERS.search(key):
        return None
    stem = PACKED.sub("", key) if PACKED.search(key) else key.removesuffix(".weight")
    name = f"{stem}.weight"
    try:
        values = _dequantized(key, stem, stored, has, get)
        if values is None:
            return key, get(key)
        scales = get(f"{stem}.scales" if has(f"{stem}.scales") else f"{name}_scale")
    except (KeyError, IndexError, ValueError, RuntimeError, ZeroDivisionError) as error:
        if explain(error).code != "internal":
            # Such as too little memory.
            raise
        what = f"{error.args[0]} is absent" if isinstance(error, KeyError) else str(error)
        raise _misfit(name, what) from error
    return name, values.to(scales.dtype if scales.dtype.itemsize == 2 else _bfloat16())


def _dequantized(
    key: str, stem: str, stored: Quantization, has: Callable[[str], bool], get: Get
) -> Tensor | None:
    """The values of the weight that is stored in the tensor `key`; None if it is not quantized."""
    name = f"{stem}.weight"
    if key.endswith(".qweight"):
        return (_awq if stored.get("quant_method") == "awq" else _gptq)(stem, stored, has, get)
    if key.endswith(".weight_packed"):
        return _packed(name, stored, has, get)
    if has(f"{name}_scale") and get(key).dtype.itemsize == 1:
        zeros = get(f"{name}_zero_point").float() if has(f"{name}_zero_point") else None
        return _scaled(get(key).float(), get(f"{name}_scale").float(), zeros, name, stored, has, get)
    return None


def spread(blocks: Tensor, shape: Sequence[int], block_sizes: list[int], name: str) -> Tensor:
    """The values of `blocks` (rows / m, columns / n), of rows or of one block, for a tensor of `shape` (…,
    rows, columns).

    The last block of an axis may be smaller; then the size of the others is one of `block_sizes`. Failure
    `bad_model` where none fits.
    """
    if blocks.numel() == 1:
        return blocks.reshape(())
    if blocks.dim() < 2:
        blocks = blocks[:, None]
    for axis in (-2, -1):
        total, count = shape[axis], blocks.shape[axis]
        if count == 1:
            continue
        size = next((size for size in block_sizes if math.ceil(total / size) == count), None)
        if size is None and total % count:
            raise _misfit(name, f"{total} values in {count} blocks")
        blocks = blocks.repeat_interleave(size or total // count, dim=axis).narrow(axis, 0, total)
    return blocks


def unpack(words: Tensor, bits: int, count: int, aligned: bool = False) -> Tensor:
    """The first `count` numbers of `bits` bits in each row of `words` (…, words of 32 bits), lowest first.

    They follow each other without a gap; if `aligned`, each lies within one word.
    """
    import torch

    if aligned:
        at, shift = torch.arange(count) // (32 // bits), (torch.arange(count) % (32 // bits) * bits).int()
        return (words[..., at] >> shift) & ((1 << bits) - 1)
    starts = torch.arange(count) * bits
    at, shift = starts // 32, (starts % 32).int()
    inside = (32 - shift).clamp(max=bits)
    found = (words[..., at] >> shift) & ((1 << inside) - 1)
    if 32 % bits:
        # Some lie across two words.
        rest = words[..., (at + 1).clamp(max=words.shape[-1] - 1)] & ((1 << (bits - inside)) - 1)
        found |= rest << inside
    return found


def _gptq(stem: str, stored: Quantization, has: Callable[[str], bool], get: Get) -> Tensor:
    import torch

    codes, scales, zeros = get(f"{stem}.qweight"), get(f"{stem}.scales").float(), get(f"{stem}.qzeros")
    groups, outputs = scales.shape
    if has(f"{stem}.g_idx"):
        group_of_column = get(f"{stem}.g_idx").long()
        bits = codes.shape[0] * 32 // len(group_of_column)
    else:
        bits = _bits(stored.get("bits"), 0)
        inputs = codes.shape[0] * 32 // bits
        group_of_column = torch.arange(inputs) // math.ceil(inputs / groups)
    if (
        bits not in (2, 3, 4, 8)
        or codes.shape[1] != outputs
        or codes.dtype != torch.int32
        or group_of_column.min() < 0
    ):
        raise _misfit(stem, f"{bits} bits, codes {tuple(codes.shape)}, scales {tuple(scales.shape)}")
    zeros_less_one = forms(stored) == ["gptq"]
    if zeros_less_one and 32 % bits == 0:
        # One is added to each, with the carry into the next, as a sum over all of a word.
        zeros = zeros + torch.tensor(sum(1 << at for at in range(0, 32, bits)), dtype=torch.int32)
    zero = unpack(zeros, bits, outputs)
    if zeros_less_one and 32 % bits:
        zero = zero + 1
    numbers = unpack(codes.T, bits, len(group_of_column))
    return (numbers - zero.T[:, group_of_column]) * scales.T[:, group_of_column]


def _awq(stem: str, stored: Quantization, has: Callable[[str], bool], get: Get) -> Tensor:
    codes, scales = get(f"{stem}.qweight"), get(f"{stem}.scales").float()
    groups, outputs = scales.shape
    inputs = codes.shape[0]
    if codes.shape[1] * 8 != outputs or inputs % groups:
        raise _misfit(stem, f"codes {tuple(codes.shape)}, scales {tuple(scales.shape)}")

    def numbers(words: Tensor) -> Tensor:
        return unpack(words, 4, outputs).reshape(-1, outputs // 8, 8)[..., AWQ_ORDER].reshape(-1, outputs)

    zeros = numbers(get(f"{stem}.qzeros")).repeat_interleave(inputs // groups, dim=0)
    return ((numbers(codes) - zeros) * scales.repeat_interleave(inputs // groups, dim=0)).T


def _packed(name: str, stored: Quantization, has: Callable[[str], bool], get: Get) -> Tensor:
    import torch

    codes, scales = get(f"{name}_packed"), get(f"{name}_scale")
    if codes.dtype == torch.uint8:
        table = torch.tensor([*FP4, *(-value for value in FP4)])
        values = table[torch.stack((codes & 15, codes >> 4), dim=-1).int()].flatten(-2)
        if scales.dtype == torch.uint8:
            scales = torch.exp2(scales.float() - 127)
        elif has(f"{name}_global_scale"):
            scales = scales.float() / get(f"{name}_global_scale").float()
        return _scaled(values, scales.float(), None, name, stored, has, get)
    rows, columns = (int(size) for size in get(f"{name}_shape")[-2:])
    bits, aligned = _layout(codes.shape[-1], columns, stored, name)
    if codes.shape[-2] != rows:
        raise _misfit(name, f"codes {tuple(codes.shape)} for {rows} x {columns}")
    middle = 1 << (bits - 1)
    numbers = unpack(codes, bits, columns, aligned) - middle
    zeros, scales = None, scales.float()
    if has(f"{name}_zero_point"):
        zeros = get(f"{name}_zero_point")
        if zeros.dtype == torch.int32:
            zeros = unpack(zeros.mT, bits, rows, aligned).mT - middle
        zeros = zeros.float()
    return _scaled(numbers.float(), scales, zeros, name, stored, has, get)


def _layout(words: int, columns: int, stored: Quantization, name: str) -> tuple[int, bool]:
    """The bits of a code in rows of `words`, and whether each lies within one word, as compressed-tensors
    packed them before version 0.17. The number of words tells; it differs if there are 32, 64, … columns."""
    found = set()
    for bits in bits_of(stored):
        if words == math.ceil(columns * bits / 32):
            found.add((bits, False))
        if words == math.ceil(columns / (32 // bits)) and words > 1 and 32 % bits:
            found.add((bits, True))
    if len(found) == 1:
        return found.pop()
    kinds = " or ".join(f"{bits}" for bits in sorted(set(bits_of(stored))))
    known = "can be packed in two ways" if found else "are too many or too few"
    raise _misfit(name, f"{words} words for {columns} columns of {kinds} bits {known}")


def _scaled(
    codes: Tensor,
    scales: Tensor,
    zeros: Tensor | None,
    name: str,
    stored: Quantization,
    has: Callable[[str], bool],
    get: Get,
) -> Tensor:
    group_of_column = get(f"{name}_g_idx").long() if has(f"{name}_g_idx") else None
    # It is -1 where the columns are in order.
    in_order = group_of_column is None or bool(group_of_column.min() < 0)

    def of_each(blocks: Tensor) -> Tensor:
        if in_order:
            return spread(blocks, codes.shape, block_sizes_of(stored), name)
        return blocks[..., group_of_column]

    if zeros is not None:
        codes = codes - of_each(zeros)
    return codes * of_each(scales)


def _groups(stored: Quantization) -> list[dict[str, Any]]:
    return [group for group in (stored.get("config_groups") or {}).values() if isinstance(group, dict)]


def bits_of(stored: Quantization) -> list[int]:
    """The bits of a code that the configuration names, of each group of layers if it has several."""
    if _groups(stored):
        weights = [group.get("weights") for group in _groups(stored)]
        return [_bits(one.get("num_bits") if isinstance(one, dict) else None, 8) for one in weights]
    return [_bits(stored.get("bits"), 4)]


def _bits(value: object, usual: int) -> int:
    """A number of bits from outside; `usual` where it is none that fits a word."""
    return value if type(value) is int and 1 <= value <= 32 else usual


def block_sizes_of(stored: Quantization) -> list[int]:
    """The sizes of blocks and groups that the configuration names."""
    found = [stored.get("group_size"), *(stored.get("weight_block_size") or [])]
    for group in _groups(stored):
        weights = group.get("weights") or {}
        found += [weights.get("group_size"), *(weights.get("block_structure") or [])]
    return [size for size in found if isinstance(size, int) and size > 0]


def _bfloat16() -> dtype:
    import torch

    return torch.bfloat16


def _misfit(name: str, what: str) -> Failure:
    return Failure(
        "bad_model",
        f"The quantized weights of {name} do not fit each other: {what}.",
        "Choose another copy of the model, or its 16-bit version.",
    )
