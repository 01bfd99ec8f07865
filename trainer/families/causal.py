"""Models that continue a text: rows become a prompt and a completion in one sequence."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from trainer import loop, probe, rows
from trainer.encode import encode
from trainer.failures import Failure
from trainer.fast.flat import flat_trainer, make_flat
from trainer.fast.lora import quicken
from trainer.generate import Questions, answer, ask
from trainer.hardware import choose
from trainer.lengths import choose_length

if TYPE_CHECKING:
    from trainer.job import Job

# What the reference for the export's verification sees at most.
REFERENCE_ROWS = 16


def train(job: Job) -> dict[str, Any]:
    """Trains to the end or to a stop; what `loop.fit` returns, with the `model` and `references`: token
    ids of prompts, held-out ones where there are any."""
    from trl import SFTConfig, SFTTrainer

    settings = job.settings
    dataset, max_length = encoded_rows(job)
    training, held_out = rows.divide(dataset, settings.eval_split, settings.seed)
    hardware = choose(settings, job.config)
    model = job.provider.base(job, hardware, "AutoModelForCausalLM")
    model = job.provider.adapt(job, model, "CAUSAL_LM")
    own_kernels, flat = job.provider.own_kernels, False
    if not own_kernels:
        quicken(model)
        flat = make_flat(model, training, hardware)
    columns = ["input_ids", "labels"]
    learnt = training.select_columns(columns)
    # Kernels of a provider's own keep packed rows apart in a way of their own, from the packing on.
    packed = settings.packing and not own_kernels
    if packed:
        learnt = rows.pack(job, learnt, max_length)
    config = SFTConfig(
        **loop.arguments(job, hardware, len(learnt), held_out is not None),
        max_length=max_length if settings.packing and own_kernels else None,
        packing=settings.packing and own_kernels,
        packing_strategy="bfd",
        eval_packing=False,
        # Its preparation of rows that are prepared would only copy them.
        dataset_kwargs={"skip_prepare_dataset": not own_kernels},
        padding_free=flat or packed,
        loss_type="nll" if flat or own_kernels or head_is_adapted(model) else "chunked_nll",
        prediction_loss_only=True,
    )
    # It warns of attentions that cannot keep rows apart. Ours does, and transformers' does with a mask.
    logging.getLogger("trl.trainer.sft_trainer").setLevel(logging.ERROR)
    trainer = loop.job_trainer(flat_trainer(SFTTrainer) if flat else SFTTrainer, job)(
        model=model,
        args=config,
        train_dataset=learnt,
        eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
        processing_class=job.tokenizer,
    )
    if held_out is not None:
        questions = Questions.of(job, held_out)
        trainer.more_metrics = lambda: ask(
            job, trainer, questions, lambda prompts: answer(job, trainer.model, prompts)
        )
    probe.run(job, trainer, ("input_ids",))
    result = loop.fit(trainer, job)
    model = trainer.accelerator.unwrap_model(trainer.model)
    model.config.use_cache = True
    return {**result, "model": model, "references": prompts(held_out if held_out is not None else training)}


def encoded_rows(job: Job) -> tuple[Any, int]:
    """The job's rows as tokens and labels, cut to the longest length that is trained, which is returned too.

    Failure `bad_dataset_row` when no token would carry loss.
    """

    def produce(batch: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        conversations = [job.task.messages(row) for row in batch]
        return [
            {
                "input_ids": row.input_ids,
                "labels": row.labels,
                "prompt_tokens": row.prompt_tokens,
                "total_tokens": row.total_tokens,
            }
            for row in encode(job.tokenizer, job.template, conversations, None)
        ]

    columns = {"input_ids": "ints", "labels": "ints", "prompt_tokens": "int", "total_tokens": "int"}
    key = [job.task.name, job.template.chat_template, job.template.stop, len(job.tokenizer)]
    dataset, _ = rows.build(job, "rows", columns, produce, key)
    if len(dataset) == 0:
        raise Failure("bad_dataset_row", "The dataset has no rows.", "Add rows to it.")
    totals = dataset.data.column("total_tokens").to_numpy()
    prompt_lengths = dataset.data.column("prompt_tokens").to_numpy()
    length = choose_length(job, totals)
    cut, useless = int((totals > length).sum()), int((prompt_lengths >= length).sum())
    if useless == len(dataset):
        raise Failure(
            "bad_dataset_row",
            f"No row leaves a token to learn from: at {length} tokens every answer is cut off.",
            f"Raise max_seq_length; the longest row has {int(totals.max()):,} tokens, its prompt included.",
        )
    if cut:
        job.warn(
            "rows_truncated",
            f"{cut:,} of {len(dataset):,} rows are longer than {length} tokens and are cut at their end; "
            f"{useless:,} of them lose their whole answer and are left out.",
        )
        dataset = _cut(dataset, length, job)
    return dataset, length


def prompts(dataset: Any) -> list[list[int]]:
    """The prompt ids of the first rows of `dataset`."""
    chosen = dataset.select(range(min(REFERENCE_ROWS, len(dataset))))
    return [row["input_ids"][: row["prompt_tokens"]] for row in chosen]


def head_is_adapted(model: Any) -> bool:
    """Whether the output layer itself carries LoRA, which the library's chunked loss cannot see."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    return isinstance(model.get_base_model().get_output_embeddings(), BaseTunerLayer)


def _cut(dataset: Any, length: int, job: Job) -> Any:
    """`dataset` with every row cut to `length`, without the rows that have no labelled token left."""

    def cut(batch: dict[str, list[Any]], numbers: list[int]) -> dict[str, list[Any]]:
        job.alive()
        if numbers[0] and numbers[0] % rows.PIECE_ROWS == 0:
            rows.tell(job, numbers[0], "cut")
        kept = [index for index, prompt in enumerate(batch["prompt_tokens"]) if prompt < length]
        return {
            name: [values[i][:length] if name in ("input_ids", "labels") else values[i] for i in kept]
            for name, values in batch.items()
        }

    name = f"cut-{dataset._fingerprint}-{length}"
    return dataset.map(
        cut,
        batched=True,
        with_indices=True,
        cache_file_name=str(job.folder / "cache" / f"{name}.arrow"),
        new_fingerprint=name,
        load_from_cache_file=True,
    )
