"""How the tensors of a GGUF become those of a published checkpoint.

Most have a name of their own in both (`named`). Experts have not: a GGUF has a tensor for each kind of matrix
with those of all experts of a layer (`of_experts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from trainer.export.gguf.header import Header
from trainer.gguf_base.dequantize import read_tensor

if TYPE_CHECKING:
    import numpy as np

# Values of a large matrix that are dequantized at a time, 16 MiB of them.
CHUNK = 1 << 22

EXPERTS = re.compile(r"blk\.(\d+)\.ffn_(gate|up|down)_exps\.(weight|bias)")
# Names of an expert's matrices in a checkpoint, by llama.cpp's name of the architecture.
EACH_EXPERT = {
    "qwen2moe": "model.layers.{layer}.mlp.experts.{expert}.{part}_proj.weight",
    "qwen3moe": "model.layers.{layer}.mlp.experts.{expert}.{part}_proj.weight",
}


@dataclass(frozen=True)
class Made:
    """A tensor of a checkpoint: its `shape`, the `sources` of the GGUF that it is made of, the parameters of
    the model that it is (`part_of`), and how it is read, in parts of its first dimension."""

    shape: tuple[int, ...]
    sources: tuple[str, ...]
    part_of: str
    parts: Callable[[], Iterator[np.ndarray]]


def named(
    header: Header,
    source: str,
    target: str,
    shape: tuple[int, ...],
    process: Callable[[np.ndarray], np.ndarray] | None,
) -> Made:
    """The tensor `target` of `source`, which `process` rearranges, if it is not None."""
    entry = header.tensors[source]

    def parts() -> Iterator[np.ndarray]:
        if process is None and len(entry.shape) == len(shape) > 1:
            rows = max(1, CHUNK * entry.shape[0] // max(1, _count(entry.shape)))
            for start in range(0, entry.shape[0], rows):
                yield read_tensor(header, source, range(start, min(start + rows, entry.shape[0])))
            return
        weights = read_tensor(header, source)
        weights = weights if process is None else process(weights)
        # Some files leave a dimension of one out.
        same = [size for size in weights.shape if size > 1] == [size for size in shape if size > 1]
        yield weights.reshape(shape) if same else weights

    return Made(shape, (source,), target, parts)


def of_experts(header: Header, shapes: dict[str, tuple[int, ...]]) -> dict[str, Made]:
    """The tensors of experts as they are published, by their names; empty where the model has none, and where
    theirs have names of their own. `shapes` are those of the model's parameters."""
    found: dict[str, Made] = {}
    for source, entry in header.tensors.items():
        match = EXPERTS.fullmatch(source)
        if match is None:
            continue
        layer, part, what = match.groups()
        # Both are parts of one parameter, which one of them does not make.
        other = {"gate": "up", "up": "gate"}.get(part, part)
        if source.replace(f"_{part}_", f"_{other}_") not in header.tensors:
            continue
        if header.architecture in EACH_EXPERT and what == "weight":
            name = EACH_EXPERT[header.architecture]
            model = f"model.layers.{layer}.mlp.experts.{'down_proj' if part == 'down' else 'gate_up_proj'}"
            for expert in range(entry.shape[0]):
                target = name.format(layer=layer, expert=expert, part=part)
                found[target] = Made(
                    _expert_shape(shapes.get(model, ()), part),
                    (source,),
                    model,
                    partial(_one, header, source, expert),
                )
        elif header.architecture == "gpt-oss" and part != "up":
            suffix = "_bias" if what == "bias" else ""
            target = f"model.layers.{layer}.mlp.experts.{'gate_up' if part == 'gate' else part}_proj{suffix}"
            sources = (source,) if part == "down" else (source, source.replace("_gate_", "_up_"))
            if target in shapes:
                found[target] = Made(
                    shapes[target], sources, target, partial(_interleaved, header, sources, what == "bias")
                )
    return found


def _expert_shape(shape: tuple[int, ...], part: str) -> tuple[int, ...]:
    """The shape of one expert's matrix, of that of all experts, which has `gate` and `up` in one."""
    if len(shape) != 3:
        return ()
    return (shape[1], shape[2]) if part == "down" else (shape[1] // 2, shape[2])


def _one(header: Header, source: str, expert: int) -> Iterator[np.ndarray]:
    yield read_tensor(header, source, range(expert, expert + 1))[0]


def _interleaved(header: Header, sources: tuple[str, ...], is_bias: bool) -> Iterator[np.ndarray]:
    """The matrices of gpt-oss, which are transposed, and whose `gate` and `up` alternate."""
    import numpy as np

    for expert in range(header.tensors[sources[0]].shape[0]):
        parts = [read_tensor(header, source, range(expert, expert + 1))[0] for source in sources]
        both = np.stack(parts, -1).reshape(-1) if is_bias else _alternating(parts)
        yield both[None]


def _alternating(parts: list[np.ndarray]) -> np.ndarray:
    import numpy as np

    # From (rows, columns) of each to (columns, rows of all).
    return np.stack([part.T for part in parts], -1).reshape(parts[0].shape[1], -1)


def falcon_groups(weights: np.ndarray, heads: int, groups: int) -> np.ndarray:
    """Falcon's queries, keys and values, of which the file has all queries, then all keys, then all values,
    as the model has them: for each group of heads its queries, a key and a value."""
    import numpy as np

    width = weights.shape[0] // (heads + 2 * groups)
    rest = weights.shape[1:]
    queries, keys, values = np.split(weights, [heads * width, (heads + groups) * width])
    queries = queries.reshape(groups, heads // groups, width, *rest)
    keys, values = (part.reshape(groups, 1, width, *rest) for part in (keys, values))
    return np.concatenate([queries, keys, values], 1).reshape(weights.shape)


def _count(shape: tuple[int, ...]) -> int:
    found = 1
    for size in shape:
        found *= size
    return found
