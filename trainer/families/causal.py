"""Causal language models: a row becomes one sequence of prompt and completion."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from trainer.data import rows
from trainer.data.encode import encode
from trainer.data.lengths import choose_length
from trainer.fast.lora import fuse_lora_layers
from trainer.fast.padding_free import make_padding_free, padding_free_trainer
from trainer.model.hardware import choose
from trainer.protocol.failures import Failure
from trainer.training import probe
from trainer.training.arguments import training_arguments
from trainer.training.fit import fit
from trainer.training.generate import EvaluationPrompts, evaluate_answers, generate_answers
from trainer.training.job_trainer import job_trainer

if TYPE_CHECKING:
    from trainer.training.job import Job

# Most prompts in the reference for the verification of the export.
REFERENCE_ROWS = 16


def train(job: Job) -> dict[str, Any]:
    """Trains to the end or to a stop; returns what `fit` does, with the `model` and `references`: token ids
    of prompts, from the validation split if there is one."""
    from trl import SFTConfig, SFTTrainer

    settings = job.settings
    dataset, max_length = encoded_rows(job)
    training, held_out = rows.training_and_held_out(job, dataset)
    hardware = choose(settings, job.config)
    model = job.provider.base(job, hardware, "AutoModelForCausalLM")
    model = job.provider.adapt(job, model, "CAUSAL_LM")
    own_kernels, padding_free = job.provider.own_kernels, False
    if not own_kernels:
        fuse_lora_layers(model)
        padding_free = make_padding_free(model, training, hardware)
    columns = ["input_ids", "labels"]
    train_rows = training.select_columns(columns)
    # A provider with its own kernels also packs and separates the rows itself.
    packed = settings.packing and not own_kernels
    if packed:
        train_rows = rows.pack(job, train_rows, max_length)
    config = SFTConfig(
        **training_arguments(job, hardware, len(train_rows), held_out is not None),
        max_length=max_length if settings.packing and own_kernels else None,
        packing=settings.packing and own_kernels,
        packing_strategy="bfd",
        eval_packing=False,
        # The rows are tokenized; preparing them again would only copy them.
        dataset_kwargs={"skip_prepare_dataset": not own_kernels},
        padding_free=padding_free or packed,
        loss_type="nll" if padding_free or own_kernels or head_is_adapted(model) else "chunked_nll",
        prediction_loss_only=True,
    )
    # It warns about attention implementations that cannot separate rows. Hone's can, and SDPA with a mask.
    logging.getLogger("trl.trainer.sft_trainer").setLevel(logging.ERROR)
    trainer = job_trainer(padding_free_trainer(SFTTrainer) if padding_free else SFTTrainer, job)(
        model=model,
        args=config,
        train_dataset=train_rows,
        eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
        processing_class=job.tokenizer,
    )
    if held_out is not None:
        eval_prompts = EvaluationPrompts.of(job, held_out)
        trainer.more_metrics = lambda: evaluate_answers(
            job, trainer, eval_prompts, lambda texts: generate_answers(job, trainer.model, texts)
        )
    probe.run(job, trainer, ("input_ids",))
    result = fit(trainer, job)
    model = trainer.accelerator.unwrap_model(trainer.model)
    model.config.use_cache = True
    return {**result, "model": model, "references": prompts(held_out if held_out is not None else training)}


def encoded_rows(job: Job) -> tuple[Any, int]:
    """The job's rows as tokens and labels, truncated to the maximum length, which is returned too.

    Failure `bad_dataset_row` when no token would have a label.
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
    dataset, _ = rows.build_dataset(job, "rows", columns, produce, key)
    if len(dataset) == 0:
        raise Failure("bad_dataset_row", "The dataset has no rows.", "Add rows to it.")
    totals = dataset.data.column("total_tokens").to_numpy()
    prompt_lengths = dataset.data.column("prompt_tokens").to_numpy()
    length = choose_length(job, totals)
    cut, useless = int((totals > length).sum()), int((prompt_lengths >= length).sum())
    if useless == len(dataset):
        raise Failure(
            "bad_dataset_row",
            f"There is nothing to train on: at {length} tokens every answer is cut off.",
            f"Raise max_seq_length; the longest row has {int(totals.max()):,} tokens including its prompt.",
        )
    if cut:
        job.warn(
            "rows_truncated",
            f"{cut:,} of {len(dataset):,} rows are longer than {length} tokens and are truncated; "
            f"{useless:,} of them lose their whole answer and are dropped.",
        )
        dataset = _cut(dataset, length, job)
    return dataset, length


def prompts(dataset: Any) -> list[list[int]]:
    """The token ids of the first prompts of `dataset`."""
    chosen = dataset.select(range(min(REFERENCE_ROWS, len(dataset))))
    return [row["input_ids"][: row["prompt_tokens"]] for row in chosen]


def head_is_adapted(model: Any) -> bool:
    """Whether the output layer has LoRA, which the library's chunked loss ignores."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    return isinstance(model.get_base_model().get_output_embeddings(), BaseTunerLayer)


def _cut(dataset: Any, length: int, job: Job) -> Any:
    """`dataset` truncated to `length`, without the rows that then have no labels."""

    def cut(batch: dict[str, list[Any]], numbers: list[int]) -> dict[str, list[Any]]:
        job.beat_or_stop()
        if numbers[0] and numbers[0] % rows.CHUNK_ROWS == 0:
            rows.report_progress(job, numbers[0], "cut")
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
