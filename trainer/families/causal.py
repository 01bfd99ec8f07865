"""Causal language models: a row becomes a sequence of prompt and completion, of turns, or of text."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from trainer.data import rows
from trainer.data.sequences import encoded_rows
from trainer.kernels.install import install, uninstall
from trainer.model.hardware import choose
from trainer.padding_free.labelled import padded_loss, why_not_labelled, why_not_packed
from trainer.padding_free.padding_free import make_padding_free, padding_free_loss
from trainer.training import probe
from trainer.training.arguments import router_loss, training_arguments
from trainer.training.fit import fit
from trainer.training.generate import PromptAnswers, generate_answers
from trainer.training.parts.balanced_steps import BalancedSteps
from trainer.training.parts.checkpoints import job_trainer
from trainer.training.parts.labelled_loss import LabelledLoss
from trainer.training.parts.taught_loss import TaughtLoss
from trainer.training.rewards.graded import graders_of

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from transformers import PreTrainedModel

    from trainer.data.job import Job, Trained
    from trainer.model.hardware import Hardware
    from trainer.training.teaching.divergence import Taught

# Most rows in the reference for the verification of the export.
REFERENCE_ROWS = 16
# Training rows by which the importance of weights is measured, at most.
IMPORTANCE_ROWS = 64


def train(job: Job, teach: Callable[[Job, Dataset, Dataset | None], Taught] | None = None) -> Trained:
    """Trains to the end or to a stop; returns what `fit` does, with the `model`, `references`: token ids and
    labels of rows, of the validation split if there is one, `golden`: what the exported file is asked, and
    `rows`: token ids of some that it was trained on.

    `teach` gives the loss, if it is not that of the labels alone, of the job and its rows."""
    from trl import SFTConfig, SFTTrainer

    settings = job.settings
    dataset, max_length = encoded_rows(job)
    training, held_out = rows.training_and_held_out(job, dataset)
    taught = None if teach is None else teach(job, training, held_out)
    hardware = choose(settings, job.config)
    model = job.provider.base(job, hardware, "AutoModelForCausalLM")
    model = job.provider.adapt(job, model, "CAUSAL_LM")
    own_kernels = job.provider.own_kernels
    why: str | None = "the provider has its own kernels"
    if not own_kernels:
        install(model, hardware.device)
        why = make_padding_free(model, training, hardware)
    padding_free = job.report_path(why) is None
    parts: list[type] = []
    if padding_free:
        parts = [BalancedSteps, _loss_part(padding_free_loss, taught)]
    elif (not own_kernels and _computes_learned_tokens(job, model, training, hardware)) or taught is not None:
        parts = [_loss_part(padded_loss, taught)]
    columns = ["input_ids", "labels"]
    train_rows = training.select_columns(columns)
    # A provider with its own kernels also packs and separates the rows itself.
    packed = settings.packing and not own_kernels
    if packed and not padding_free:
        packed = _can_be_packed(job, model, training, hardware)
    if packed:
        train_rows = rows.pack(job, train_rows, max_length)
    config = SFTConfig(
        **training_arguments(job, hardware, len(train_rows), held_out is not None),
        max_length=max_length if settings.packing and own_kernels else None,
        packing=settings.packing and own_kernels,
        packing_strategy="bfd",
        eval_packing=False,
        router_aux_loss_coef=router_loss(model),
        # The rows are tokenized; preparing them again would only copy them.
        dataset_kwargs={"skip_prepare_dataset": not own_kernels},
        padding_free=padding_free or packed,
        # Through the model's own forward pass, where no part replaces it.
        loss_type="nll",
        prediction_loss_only=True,
    )
    # It warns about attention implementations that cannot separate rows. Hone's can, and SDPA with a mask.
    logging.getLogger("trl.trainer.sft_trainer").setLevel(logging.ERROR)
    trainer = job_trainer(job, SFTTrainer, *parts)(
        model=model,
        args=config,
        train_dataset=train_rows,
        eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
        processing_class=job.tokenizer,
    )
    answers = partial(generate_answers, job, trainer.model)
    trainer.answers = PromptAnswers(job, trainer, training, held_out, answers, graders_of(job))
    probe.run(job, trainer, ("input_ids",))
    result = fit(trainer, job)
    model = trainer.accelerator.unwrap_model(trainer.model)
    model.config.use_cache = True
    return {
        **result,
        "model": model,
        "references": examples(held_out if held_out is not None else training),
        "golden": trainer.answers.for_export(),
        "rows": some_rows(job, training, ("input_ids",)),
    }


def _loss_part(loss: Callable[..., tuple[Tensor, ...]], taught: Taught | None) -> type:
    """The part of the trainer that computes `loss`, by the labels or by what a teacher says."""
    if taught is None:
        return LabelledLoss.of(loss=loss)
    return TaughtLoss.of(loss=loss, taught=taught)


def examples(dataset: Dataset) -> list[tuple[list[int], list[int]]]:
    """The token ids and labels of the first sequences of `dataset`."""
    chosen = dataset.select(range(min(REFERENCE_ROWS, len(dataset))))
    return [(list(row["input_ids"]), list(row["labels"])) for row in chosen]


def some_rows(job: Job, training: Dataset, columns: tuple[str, ...]) -> list[list[int]]:
    """The token ids in `columns`, one after another, of up to IMPORTANCE_ROWS rows, chosen by the seed."""
    import numpy as np

    order = np.random.default_rng(job.settings.seed).permutation(len(training))
    chosen = training.select(order[:IMPORTANCE_ROWS]).select_columns(list(columns))
    return [[token for column in columns for token in row[column]] for row in chosen]


def _can_be_packed(job: Job, model: PreTrainedModel, training: Dataset, hardware: Hardware) -> bool:
    """Whether `model` keeps packed rows apart; says why not."""
    why = why_not_packed(model, training, hardware)
    why = next((each for each in job.rank.all_gather(why) if each is not None), None)
    if why is not None:
        job.warn("rows_not_packed", f"The rows are not packed: {why}. Every row is trained on by itself.")
    return why is None


def _computes_learned_tokens(job: Job, model: PreTrainedModel, training: Dataset, hardware: Hardware) -> bool:
    """Whether the logits of learned tokens alone are computed of padded rows: if the loss of `model` stays
    the same. Otherwise the model has the library's layers again."""
    why = why_not_labelled(model, training, hardware)
    why = next((each for each in job.rank.all_gather(why) if each is not None), None)
    if why is not None:
        uninstall(model)
        print(f"The loss is the library's: {why}.", flush=True)
    return why is None
