"""Encoder-decoder models such as T5 and BART: the prompt is the encoder's input, the answer the decoder's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.data import rows
from trainer.data.lengths import choose_length, limit_words
from trainer.kernels.install import install_linear
from trainer.model.hardware import choose
from trainer.padding_free.flat_seq2seq import collate, flat_loss, make_seq2seq_padding_free
from trainer.padding_free.length_groups import describe_layout
from trainer.protocol.failures import Failure
from trainer.training import probe
from trainer.training.arguments import training_arguments
from trainer.training.fit import fit
from trainer.training.generate import BATCH, Done, PromptAnswers, contents, telling_criterion
from trainer.training.parts.by_length import ByLength
from trainer.training.parts.checkpoints import job_trainer
from trainer.training.parts.flat_loss import FlatLoss
from trainer.training.parts.per_item import PerItem, labelled
from trainer.training.rewards.graded import graders_of

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel

    from trainer.data.job import Job, Trained
    from trainer.protocol.row import Row


def train(job: Job) -> Trained:
    """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model`, and empty `references`,
    because such models are not exported to GGUF."""
    from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments

    settings = job.settings
    if settings.packing:
        raise Failure(
            "unsupported",
            "Encoder-decoder models do not support packing.",
            "Leave packing out.",
        )
    dataset, length = encoded_rows(job)
    training, held_out = rows.training_and_held_out(job, dataset)
    hardware = choose(settings, job.config)
    model = job.provider.base(job, hardware, "AutoModelForSeq2SeqLM")
    model = job.provider.adapt(job, model, "SEQ_2_SEQ_LM")
    install_linear(model, hardware.device)
    columns = ["input_ids", "labels"]
    why = job.report_path(
        make_seq2seq_padding_free(model, training.select_columns(columns), hardware),
        describe_layout(hardware.device),
    )
    own_loss = FlatLoss.of(loss=flat_loss) if why is None else ByLength.of(count=labelled)
    trainer = job_trainer(job, Seq2SeqTrainer, PerItem.of(count=labelled), own_loss)(
        model=model,
        args=Seq2SeqTrainingArguments(
            **training_arguments(job, hardware, len(training), held_out is not None),
            include_num_input_tokens_seen="non_padding",
            prediction_loss_only=True,
        ),
        train_dataset=training.select_columns(columns),
        eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
        data_collator=DataCollatorForSeq2Seq(job.tokenizer, model=model) if why else collate,
        processing_class=job.tokenizer,
    )
    trainer.answers = PromptAnswers(
        job,
        trainer,
        training,
        held_out,
        lambda prompts, most, done: generate_answers(
            job, trainer.model, contents(prompts), length, most, done
        ),
        graders_of(job),
    )
    probe.run(job, trainer, ("input_ids", "labels"))
    result = fit(trainer, job)
    return {**result, "model": trainer.accelerator.unwrap_model(trainer.model), "references": []}


def encoded_rows(job: Job) -> tuple[Dataset, int]:
    """The job's rows as `input_ids` and `labels`, truncated to the maximum length, which is returned too."""

    def tokens(job_rows: list[Row], length: int | None) -> list[rows.Produced]:
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
    whole, _ = rows.build_dataset(job, "rows", columns, lambda batch: tokens(batch, None), key)
    if len(whole) == 0:
        raise Failure("bad_dataset_row", "The dataset has no rows.", "Add rows to it.")
    totals = whole.data.column("total_tokens").to_numpy()
    length = choose_length(job, totals)
    cut = int((totals > length).sum())
    if cut == 0:
        return whole, length
    job.warn(
        "rows_truncated",
        f"{cut:,} of {len(whole):,} rows have an input or output of over {limit_words(job, length)} and are "
        "truncated.",
    )
    shortened, _ = rows.build_dataset(
        job, "cut", columns, lambda batch: tokens(batch, length), [*key, length]
    )
    return shortened, length


def generate_answers(
    job: Job,
    model: PreTrainedModel,
    texts: list[str],
    length: int,
    most: int,
    done: Done = lambda count: None,
) -> list[str]:
    """The model's greedy answer to each text, truncated to `length` tokens, of up to `most` tokens."""
    import torch

    given: list[str] = []
    longest = min(length, most)

    def step(of_batch: float) -> None:
        job.beat_or_stop()
        done(len(given) + of_batch)

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
                    max_new_tokens=longest,
                    do_sample=False,
                    num_beams=1,
                    stopping_criteria=[telling_criterion(len(batch.input_ids), longest, step)],
                )
            given += [text.strip() for text in job.tokenizer.batch_decode(made, skip_special_tokens=True)]
    finally:
        model.train(was_training)
    return given
