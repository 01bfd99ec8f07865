"""Models with a question answering head (BERT, BART, T5): the answer is a span of the context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainer.data import rows
from trainer.data.lengths import choose_length
from trainer.kernels.install import install_linear
from trainer.libraries.peft import pass_on_all_inputs, without_adapter
from trainer.model.hardware import choose
from trainer.padding_free.length_groups import describe_layout
from trainer.padding_free.spans import Collate, first_position, make_spans_padding_free, span_loss
from trainer.protocol.failures import Failure
from trainer.training import probe
from trainer.training.arguments import training_arguments
from trainer.training.fit import fit
from trainer.training.generate import Done, PromptAnswers, contents
from trainer.training.parts.by_length import ByLength
from trainer.training.parts.checkpoints import job_trainer
from trainer.training.parts.flat_loss import FlatLoss
from trainer.training.parts.per_item import PerItem, sequences, with_lengths
from trainer.training.parts.span_loss import SpanLoss
from trainer.training.rewards.graded import graders_of

if TYPE_CHECKING:
    import numpy as np
    from datasets import Dataset
    from torch import Tensor
    from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

    from trainer.data.job import Job, Trained
    from trainer.protocol.row import Row

# Overlap of the windows of a long context, as a share of their length.
OVERLAP = 0.25
# Most tokens of an answer.
LONGEST_SPAN = 64


def train(job: Job) -> Trained:
    """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model`, and empty `references`,
    because such models are not exported to GGUF."""
    from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

    settings = job.settings
    if settings.packing:
        raise Failure(
            "unsupported", "Only causal language models support packing.", "Leave packing out for this model."
        )
    if not job.tokenizer.is_fast:
        raise Failure(
            "bad_tokenizer",
            "The model's tokenizer does not give the positions of its tokens in the text.",
            "Choose a model with a tokenizer.json.",
        )
    dataset, length = encoded_rows(job)
    training, held_out = rows.training_and_held_out(job, dataset)
    hardware = choose(settings, job.config)
    model = job.provider.base(job, hardware, "AutoModelForQuestionAnswering", num_labels=2)
    model = job.provider.adapt(job, model, "QUESTION_ANS", also_train=["qa_outputs"])
    pass_on_all_inputs(model)
    install_linear(model, hardware.device)
    columns = ["input_ids", "start_positions", "end_positions"]
    if "token_type_ids" in dataset.column_names:
        columns.append("token_type_ids")
    why = make_spans_padding_free(model, training.select_columns(columns), hardware)
    collate: Callable[[list[dict[str, Any]]], dict[str, Tensor]]
    if job.report_path(why, describe_layout(hardware.device)) is None:
        collate = Collate(first_position(without_adapter(model)))
        parts = [PerItem.of(count=with_lengths), FlatLoss.of(loss=span_loss)]
    else:
        collate = DataCollatorWithPadding(job.tokenizer)
        parts = [PerItem.of(count=sequences), ByLength.of(count=sequences), SpanLoss]
    trainer = job_trainer(job, Trainer, *parts)(
        model=model,
        args=TrainingArguments(
            **training_arguments(job, hardware, len(training), held_out is not None),
            include_num_input_tokens_seen="non_padding",
            prediction_loss_only=True,
            label_names=["start_positions", "end_positions"],
        ),
        train_dataset=training.select_columns(columns),
        eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
        data_collator=collate,
        processing_class=job.tokenizer,
    )
    trainer.answers = PromptAnswers(
        job,
        trainer,
        training,
        held_out,
        lambda prompts, _, done: find_answers(job, trainer.model, contents(prompts), length, done),
        graders_of(job),
    )
    probe.run(job, trainer, ("input_ids",))
    result = fit(trainer, job)
    return {**result, "model": trainer.accelerator.unwrap_model(trainer.model), "references": []}


def encoded_rows(job: Job) -> tuple[Dataset, int]:
    """The job's rows, each as the window of its context with the answer, and the answer's positions.

    Rows whose context does not contain their answer are dropped with a warning.
    """
    length = choose_length(job, token_counts(job) if job.settings.max_seq_length <= 0 else ())
    typed = "token_type_ids" in job.tokenizer.model_input_names

    def produce(batch: list[Row]) -> list[rows.Produced]:
        return [_window(job, row, length, typed) for row in batch]

    columns = {"input_ids": "ints", "start_positions": "int", "end_positions": "int", "total_tokens": "int"}
    if typed:
        columns["token_type_ids"] = "ints"
    dataset, left_out = rows.build_dataset(
        job, "spans", columns, produce, ["extractive", length, len(job.tokenizer)]
    )
    if len(dataset) == 0:
        raise Failure(
            "bad_dataset_row",
            "No row's context contains its answer exactly.",
            "Copy the answers from their contexts, or raise max_seq_length.",
        )
    if left_out:
        job.warn(
            "rows_left_out",
            f"{left_out:,} rows are dropped because their context does not contain their answer exactly.",
        )
    return dataset, length


def token_counts(job: Job) -> np.ndarray:
    """The number of tokens of each row, question and context together."""
    from array import array
    from itertools import islice

    import numpy

    counts, every = array("i"), rows.job_rows(job)
    report = rows.reporter(job, "measured")
    while batch := [row for _, row in islice(every, rows.BATCH_ROWS)]:
        job.beat_or_stop()
        encoded = job.tokenizer([row["question"] for row in batch], [row["context"] for row in batch])
        counts.extend(map(len, encoded.input_ids))
        report(len(counts))
    return numpy.frombuffer(counts, dtype=numpy.int32) if counts else numpy.zeros(0, numpy.int32)


def find_answers(
    job: Job, model: PreTrainedModel, texts: list[str], length: int, done: Done = lambda count: None
) -> list[str]:
    """The span that the model predicts in each text, which is the context, a blank line and the question."""
    given: list[str] = []
    was_training = model.training
    model.eval()
    try:
        for text in texts:
            job.beat_or_stop()
            done(len(given))
            context, _, question = text.rpartition("\n\n")
            given.append(best_span(job.tokenizer, model, question, context, length).text)
    finally:
        model.train(was_training)
    return given


def windows(tokenizer: PreTrainedTokenizerBase, question: str, context: str, length: int) -> BatchEncoding:
    """Question and context as overlapping windows of at most `length` tokens, with offsets."""
    room = length - len(tokenizer(question, "").input_ids)
    if room < 8:
        raise Failure(
            "bad_dataset_row",
            f"A question takes {length - room} of {length} tokens, which leaves no room for its context.",
            "Raise max_seq_length, or shorten the questions.",
        )
    return tokenizer(
        question,
        context,
        truncation="only_second",
        max_length=length,
        stride=int(room * OVERLAP),
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )


def _window(job: Job, row: Row, length: int, typed: bool) -> dict[str, object] | None:
    """The first window with the whole answer, or None."""
    start = row["context"].find(row["answer"])
    if start < 0 or not row["answer"]:
        return None
    end = start + len(row["answer"])
    encoded = windows(job.tokenizer, row["question"], row["context"], length)
    for index, ids in enumerate(encoded["input_ids"]):
        offsets = _offsets(encoded, index)
        first = next((at for at, (low, high) in offsets.items() if low <= start < high), None)
        last = next((at for at, (low, high) in offsets.items() if low < end <= high), None)
        if first is not None and last is not None:
            made = {
                "input_ids": ids,
                "start_positions": first,
                "end_positions": last,
                "total_tokens": len(ids),
            }
            return {**made, "token_type_ids": encoded["token_type_ids"][index]} if typed else made
    return None


def _offsets(encoded: BatchEncoding, index: int) -> dict[int, tuple[int, int]]:
    """For the tokens of the context in a window: where they lie in it."""
    return {
        at: tuple(offset)
        for at, (part, offset) in enumerate(
            zip(encoded.sequence_ids(index), encoded["offset_mapping"][index], strict=True)
        )
        if part == 1 and offset[1] > offset[0]
    }


@dataclass(frozen=True)
class Span:
    """A part of a context, and how many tokens it has."""

    text: str
    tokens: int


def best_span(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    question: str,
    context: str,
    length: int,
    longest: int = LONGEST_SPAN,
    keep_on: Callable[[], bool] = lambda: True,
) -> Span:
    """The most likely span of all windows of `length` tokens, of at most `longest` tokens. `keep_on` is asked
    after each window whether to go on."""
    import torch

    # Not PEFT's wrapper: see `pass_on_all_inputs`.
    inner = without_adapter(model)
    encoded = windows(tokenizer, question, context, length)
    best, found = float("-inf"), Span("", 0)
    for index, ids in enumerate(encoded["input_ids"]):
        inputs = {"input_ids": torch.tensor([ids], device=model.device)}
        if "token_type_ids" in encoded:
            inputs["token_type_ids"] = torch.tensor([encoded["token_type_ids"][index]], device=model.device)
        with torch.inference_mode():
            output = inner(**inputs)
        starts, ends = output.start_logits[0].tolist(), output.end_logits[0].tolist()
        offsets = _offsets(encoded, index)
        for first in offsets:
            for last in range(first, min(first + longest, len(ids))):
                if last in offsets and starts[first] + ends[last] > best:
                    best = starts[first] + ends[last]
                    found = Span(context[offsets[first][0] : offsets[last][1]], last - first + 1)
        if not keep_on():
            break
    return found
