"""Asks the teacher about all rows, once, and stores what it says. Its memory is free afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.kernels.logits import body_of
from trainer.kernels.loss import all_logits
from trainer.libraries.peft import without_adapter
from trainer.model import vocabulary
from trainer.model.hardware import choose
from trainer.model.tokenizer import load_with_class
from trainer.padding_free.labelled import IGNORED
from trainer.padding_free.trial import autocast
from trainer.protocol.failures import Failure
from trainer.training import disk_budget
from trainer.training.teaching.asked import Asked, asked_rows
from trainer.training.teaching.divergence import CHUNK, Taught, likeliest
from trainer.training.teaching.kept import FOLDER, Kept, Shape
from trainer.training.teaching.same_tokens import refuse_other_tokens

if TYPE_CHECKING:
    import numpy as np
    from datasets import Dataset
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

    from trainer.data.job import Job
    from trainer.protocol.contracts import Teacher

# The most tokens of rows that are computed at once; of longer rows, one at a time.
BATCH_TOKENS = 4096
ADAPTER = "adapter_model.safetensors"


def ask_teacher(job: Job, training: Dataset, held_out: Dataset | None) -> Taught:
    """What the job's teacher says of the learned tokens of all rows, as the loss of its student.

    Rows that it has answered before a stop or a kill are not asked again. Failure `unsupported` for a teacher
    that has other tokens, and `disk_full` where its answers do not fit on the disk.
    """
    settings, teacher = job.settings, job.spec.teacher
    if teacher is None or job.teacher_dir is None:
        raise Failure("unsupported", "distill needs a teacher, and the run has none.", "Name one in teacher.")
    of_teacher = job.of_folder(job.teacher_dir)
    of_teacher.tokenizer = load_with_class(job.teacher_dir)
    refuse_other_tokens(job.tokenizer, of_teacher.tokenizer, teacher.name)
    # Rows of an embedding beyond the tokens only fill it up, and may be of other numbers.
    rows_of = [vocabulary.embedding_rows(config) for config in (job.config, of_teacher.config)]
    words = min(rows for rows in rows_of if rows is not None)
    shape = Shape(min(settings.teacher_top_k, words), words)
    question = [teacher.name, teacher.path, teacher.adapter, settings.distill_temperature]
    kept = Kept(job.folder / FOLDER, shape, asked_rows(training, held_out), question)
    if not kept.complete:
        _refuse_beyond_disk(job, kept)
        _ask(of_teacher, teacher, kept, training, held_out)
    return Taught(kept, settings.distill_beta, settings.distill_temperature, settings.label_share)


def _refuse_beyond_disk(job: Job, kept: Kept) -> None:
    """Failure `disk_full` where what is to be written is more than is free."""
    spare = 0.0 if job.spec.disk is None else job.spec.disk.spare_bytes
    disk_budget.refuse_beyond_free(
        job.folder,
        {"the teacher's answers": kept.bytes_to_write},
        spare,
        f"or lower teacher_top_k ({kept.shape.kept:,} now).",
    )


def _ask(job: Job, teacher: Teacher, kept: Kept, training: Dataset, held_out: Dataset | None) -> None:
    """Adds to `kept` what is missing; `job` is that of the teacher's folder."""
    import numpy as np
    import torch

    total = len(kept.asked)
    job.phase("load", kept.rows / total, f"teacher: {kept.rows:,} of {total:,} rows")
    job.beat_or_stop()
    model = _loaded(job, teacher)
    report = job.reports("load")
    try:
        for batch in _batches(kept.asked[kept.rows :]):
            job.beat_or_stop()
            rows = [_dataset_of(row, training, held_out)[row.at] for row in batch]
            ids = [np.asarray(row["input_ids"], dtype=np.int64) for row in rows]
            learned = [np.asarray(row["labels"]) != IGNORED for row in rows]
            kept.add(len(batch), *_said(job, model, ids, learned, kept.shape))
            report(kept.rows / total, f"teacher: {kept.rows:,} of {total:,} rows")
    finally:
        del model
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    size = sum(row.learned for row in kept.asked)
    print(
        f"The teacher has predicted {size:,} tokens; {kept.shape.kept:,} of {kept.shape.words:,} choices of "
        f"each are stored ({size * kept.shape.bytes_per_token / 1e6:.1f} MB).",
        flush=True,
    )


def _loaded(job: Job, teacher: Teacher) -> PreTrainedModel:
    """The teacher, ready to be asked."""
    hardware = choose(job.settings, job.config)
    model = job.provider.base(job, hardware, "AutoModelForCausalLM")
    if teacher.adapter is not None:
        from peft import PeftModel

        if not (Path(teacher.adapter) / ADAPTER).is_file():
            raise Failure(
                "bad_model",
                f"The adapter of the teacher {teacher.name} is gone: there is no {ADAPTER} in "
                f"{teacher.adapter}.",
                "Put it back, or start a run with another teacher.",
            )
        model = PeftModel.from_pretrained(model, teacher.adapter)
    if model.device.type != hardware.device:
        model.to(hardware.device)
    return model.eval()


def _dataset_of(row: Asked, training: Dataset, held_out: Dataset | None) -> Dataset:
    """The rows that `row` is one of."""
    if not row.held_out:
        return training
    assert held_out is not None
    return held_out


def _batches(rows: Sequence[Asked]) -> Iterator[Sequence[Asked]]:
    """`rows`, the longest first, in batches of about BATCH_TOKENS with their padding."""
    start = 0
    while start < len(rows):
        size = max(1, BATCH_TOKENS // rows[start].tokens)
        yield rows[start : start + size]
        start += size


def _said(
    job: Job,
    model: PreTrainedModel,
    ids: list[NDArray[np.int64]],
    learned: list[NDArray[np.bool_]],
    shape: Shape,
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """What `model` says of the `learned` tokens of rows of `ids`, as `Kept.add` takes it."""
    import numpy as np
    import torch

    inner = without_adapter(model)
    width = max(map(len, ids))
    batch = np.zeros((len(ids), width), dtype=np.int64)
    mask, predicts = np.zeros_like(batch), np.zeros((len(ids), width), dtype=bool)
    for row, (tokens, wanted) in enumerate(zip(ids, learned, strict=True)):
        batch[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        predicts[row, : len(tokens) - 1] = wanted[1:]
    hardware = choose(job.settings, job.config)
    found: list[NDArray[np.float32]] = []
    numbers: list[NDArray[np.int32]] = []
    with torch.no_grad(), autocast(model.device.type, hardware.autocast):
        given = {"input_ids": batch, "attention_mask": mask}
        tensors = {name: torch.from_numpy(values).to(model.device) for name, values in given.items()}
        states = body_of(inner)(**tensors, use_cache=False).last_hidden_state
        hidden = states[torch.from_numpy(predicts).to(states.device)]
        for part in hidden.split(CHUNK):
            logits = all_logits(inner, part)[:, : shape.words] / job.settings.distill_temperature
            log_probabilities, chosen = likeliest(logits, shape.kept)
            found.append(log_probabilities.cpu().numpy())
            numbers.append(chosen.int().cpu().numpy())
    return np.concatenate(found), np.concatenate(numbers)
