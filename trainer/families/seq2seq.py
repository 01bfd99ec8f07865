"""Models that read a text and write another (T5, BART): the prompt is encoded, the answer decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainer import loop, probe, rows
from trainer.failures import Failure
from trainer.fast.lora import quicken
from trainer.generate import BATCH, LONGEST_ANSWER, Questions, alive_criterion, ask
from trainer.hardware import choose
from trainer.lengths import choose_length

if TYPE_CHECKING:
    from trainer.job import Job


def train(job: Job) -> dict[str, Any]:
    """Trains to the end or to a stop: `step`, `stopped`, `metrics`, `model`, and no `references`, since what
    they verify, a GGUF, is not made of such models."""
    from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments

    settings = job.settings
    if settings.packing:
        raise Failure(
            "unsupported",
            "packing joins rows into one sequence, which encoder-decoder models cannot tell apart.",
            "Leave packing out.",
        )
    dataset, length = encoded_rows(job)
    training, held_out = rows.divide(dataset, settings.eval_split, settings.seed)
    hardware = choose(settings, job.config)
    model = job.provider.base(job, hardware, "AutoModelForSeq2SeqLM")
    model = job.provider.adapt(job, model, "SEQ_2_SEQ_LM")
    quicken(model)
    columns = ["input_ids", "labels"]
    trainer = loop.job_trainer(Seq2SeqTrainer, job)(
        model=model,
        args=Seq2SeqTrainingArguments(
            **loop.arguments(job, hardware, len(training), held_out is not None),
            include_num_input_tokens_seen="non_padding",
            prediction_loss_only=True,
        ),
        train_dataset=training.select_columns(columns),
        eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
        data_collator=DataCollatorForSeq2Seq(job.tokenizer, model=model),
        processing_class=job.tokenizer,
    )
    if held_out is not None:
        questions = Questions.of(job, held_out)
        trainer.more_metrics = lambda: ask(
            job, trainer, questions, lambda texts: answer(job, trainer.model, texts, length)
        )
    probe.run(job, trainer, ("input_ids", "labels"))
    result = loop.fit(trainer, job)
    return {**result, "model": trainer.accelerator.unwrap_model(trainer.model), "references": []}


def encoded_rows(job: Job) -> tuple[Any, int]:
    """The job's rows as `input_ids` and `labels`, each side cut to the length that is returned too."""

    def tokens(job_rows: list[dict[str, Any]], length: int | None) -> list[dict[str, Any]]:
        conversations = [job.messages(row) for row in job_rows]
        cut = {"truncation": length is not None, "max_length": length}
        sources = job.tokenizer([turns[0]["content"] for turns in conversations], **cut).input_ids
        targets = job.tokenizer(
            text_target=[turns[-1]["content"] for turns in conversations], **cut
        ).input_ids
        return [
            {"input_ids": source, "labels": target, "total_tokens": max(len(source), len(target))}
            for source, target in zip(sources, targets, strict=True)
        ]

    columns = {"input_ids": "ints", "labels": "ints", "total_tokens": "int"}
    key = ["seq2seq", job.task.name, len(job.tokenizer)]
    whole, _ = rows.build(job, "rows", columns, lambda batch: tokens(batch, None), key)
    if len(whole) == 0:
        raise Failure("bad_dataset_row", "The dataset has no rows.", "Add rows to it.")
    totals = whole.data.column("total_tokens").to_numpy()
    length = choose_length(job, totals)
    cut = int((totals > length).sum())
    if cut == 0:
        return whole, length
    job.warn(
        "rows_truncated",
        f"{cut:,} of {len(whole):,} rows are longer than {length} tokens on a side and are cut there.",
    )
    shortened, _ = rows.build(job, "cut", columns, lambda batch: tokens(batch, length), [*key, length])
    return shortened, length


def answer(job: Job, model: Any, texts: list[str], length: int) -> list[str]:
    """What the model writes to each text, greedily."""
    import torch

    given: list[str] = []
    was_training = model.training
    model.eval()
    try:
        for start in range(0, len(texts), BATCH):
            batch = job.tokenizer(
                texts[start : start + BATCH],
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=length,
            ).to(model.device)
            with torch.inference_mode():
                made = model.generate(
                    input_ids=batch.input_ids,
                    attention_mask=batch.attention_mask,
                    max_new_tokens=min(length, LONGEST_ANSWER),
                    do_sample=False,
                    num_beams=1,
                    stopping_criteria=[alive_criterion(job)],
                )
            given += [text.strip() for text in job.tokenizer.batch_decode(made, skip_special_tokens=True)]
    finally:
        model.train(was_training)
    return given
