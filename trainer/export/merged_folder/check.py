"""Verifies a merged folder as decision 9 has it: what can be proven is proven, the rest must have to do with
the trained model."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.export.merge.adapter import Adapter
from trainer.export.merge.weights import CHUNK_BYTES, DTYPE_BYTES, StoredTensor, index_checkpoint
from trainer.export.verification.compare import compare
from trainer.export.verification.float32 import in_float32
from trainer.export.verification.independent import LowRank, ReadAgain, low_rank_updates
from trainer.export.verification.reference import Reference, predictions
from trainer.export.verification.tensor_check import CHUNK, ROUNDED, wrong_bits
from trainer.export.verification.verify import DEAD_INEXACT
from trainer.model import load_report, text_part
from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    import numpy as np

    from trainer.protocol.model_config import ModelConfig

# The mean KL divergence (nats) from the trained model in float32 from which on a folder is wrong. The weights
# are proven by themselves, so that this is for what surrounds them: configuration, names, what is tied.
# Rounding all of it to bfloat16 costs SmolLM2-135M-Instruct, with its matrices changed, 1.2e-4 nats, and toys
# 2e-6; the rest is for routers that choose other experts. A norm's wrong epsilon costs more in a toy already.
LIMIT = 0.02
# Tokens of the prompts that are compared: enough to tell, and a few seconds on a processor.
TOKENS = 256


def check_weights(
    folder: Path,
    tensors: Mapping[str, StoredTensor],
    adapter: Adapter,
    adapter_folder: Path,
    types: Mapping[str, str],
    on_progress: Callable[[float], None],
) -> None:
    """Failure `verification_failed` unless the files in `folder` have exactly `tensors` in `types`, with the
    adapter merged as code apart from the export computes it (`verification/independent.py`): bit for bit, but
    for what float32 may lose in sums of another order."""
    stored = index_checkpoint(folder)
    for name in tensors.keys() ^ stored.keys():
        raise _failure(f"{name} is {'missing' if name in tensors else 'not one of the model'}.")
    updates: dict[str, Any] = {**adapter.updates, **low_rank_updates(adapter_folder, dict(tensors))}
    total, done = sum(tensor.size for tensor in stored.values()) or 1, 0
    for name, tensor in tensors.items():
        found = stored[name]
        if (found.dtype, found.shape) != (types[name], tensor.shape):
            raise _failure(f"{name} is {found.dtype} of the shape {found.shape}.")
        wrong = _difference(found, tensor, updates.get(name))
        if wrong is not None:
            raise _failure(f"{name} {wrong}.")
        done += found.size
        on_progress(done / total)


def _difference(found: StoredTensor, base: StoredTensor, update: Any) -> str | None:
    """What is wrong with a tensor, as the end of a sentence; None if nothing is."""
    if update is None and found.dtype == base.dtype:
        same = all(one == other for one, other in zip(_chunks(found), _chunks(base), strict=True))
        return None if same else "is not what the base has"
    if found.dtype not in ROUNDED:
        wanted = ReadAgain.of(base).read()
        right = (wanted if update is None else update.apply(wanted)).equal(ReadAgain.of(found).read())
        return None if right else "is not what base and adapter make"
    slack = (0.0, 0.0)
    merged = None
    if update is not None:
        merged = update.apply(ReadAgain.of(base).read()).contiguous()
        slack = update.rounding() if isinstance(update, LowRank) else slack
    rows = base.shape[0] if base.shape else 1
    step = max(1, CHUNK * rows // max(1, base.size // DTYPE_BYTES[base.dtype]))
    for start in range(0, rows, step):
        chosen = range(start, min(rows, start + step))
        if merged is None:
            part = ReadAgain.of(base).read(chosen if base.shape else None)
        else:
            part = merged[chosen.start : chosen.stop] if base.shape else merged
        wrong = wrong_bits(_rows(found, chosen, rows), part.numpy(), found.dtype, slack)
        if wrong is not None:
            return f"{wrong[1]}, in the rows from {start} on"
    return None


def _chunks(tensor: StoredTensor) -> Iterator[bytes]:
    """The bytes of a tensor."""
    with open(tensor.file, "rb", buffering=0) as file:
        for start in range(0, tensor.size, CHUNK_BYTES):
            file.seek(tensor.offset + start)
            yield file.read(min(CHUNK_BYTES, tensor.size - start))


def _rows(tensor: StoredTensor, chosen: range, rows: int) -> np.ndarray:
    """The bytes of some of the `rows` of a tensor."""
    import numpy as np

    row = tensor.size // max(1, rows)
    return np.fromfile(
        tensor.file, np.uint8, count=len(chosen) * row, offset=tensor.offset + chosen.start * row
    )


def check_predictions(
    folder: Path, config: ModelConfig, known: Reference, on_progress: Callable[[float], None]
) -> float | None:
    """Loads `folder` with transformers and compares what it predicts for short prompts, computed in float32,
    with the record `known` of the trained model; returns the mean KL divergence in nats, None without a
    record.

    Failure `verification_failed` when it lacks a tensor or has one too many, or is further from the trained
    model than LIMIT.
    """
    import torch

    model, report = text_part.loader(config, "AutoModelForCausalLM")(
        folder,
        dtype="auto",
        use_safetensors=True,
        trust_remote_code=False,
        local_files_only=True,
        output_loading_info=True,
    )
    try:
        load_report.check(model, report, config, new_head=False)
        on_progress(0.5)
        chosen = _short(known)
        answers = []
        with torch.inference_mode(), in_float32(model.eval()):
            for row, ids in enumerate(chosen.ids):
                (found,) = predictions(model, [(chosen.sequences[row], chosen.positions[row])])
                answers.append(
                    {
                        "logprobs": found.gather(-1, torch.tensor(ids)).tolist(),
                        "tops": found.argmax(-1).tolist(),
                    }
                )
                on_progress(0.5 + 0.5 * (row + 1) / len(chosen.ids))
    finally:
        del model
        gc.collect()
    limit = LIMIT if known.exact else DEAD_INEXACT
    figures = compare(chosen, {"sequences": answers, "texts": []}, [], [], limit)
    if figures.dead:
        raise _failure(figures.reason)
    on_progress(1.0)
    return figures.mean_kl


def _short(known: Reference) -> Reference:
    """The shortest sequences of a record, which together have TOKENS tokens at most, or the first alone."""
    chosen: list[int] = []
    length = 0
    for row in sorted(range(len(known.sequences)), key=lambda row: len(known.sequences[row])):
        if chosen and length + len(known.sequences[row]) > TOKENS:
            break
        chosen.append(row)
        length += len(known.sequences[row])
    return replace(
        known,
        sequences=[known.sequences[row] for row in chosen],
        positions=[known.positions[row] for row in chosen],
        ids=[known.ids[row] for row in chosen],
        adapter=[known.adapter[row] for row in chosen],
        base=[known.base[row] for row in chosen],
    )


def _failure(reason: str) -> Failure:
    return Failure("verification_failed", f"The merged weights are wrong. {reason}")
