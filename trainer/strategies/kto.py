"""KTO (Kahneman-Tversky optimization): makes answers that are labelled right more likely, and others less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.data import preferences, rows
from trainer.data.steps import steps_per_epoch, total_steps
from trainer.families.fit_prompts import fit_prompts
from trainer.libraries.transformers import divide_step
from trainer.libraries.trl import TokenizedRows
from trainer.model.hardware import choose
from trainer.padding_free.pairs import fuse_layers_for_pairs, make_pairs_padding_free
from trainer.training.arguments import router_loss, training_arguments
from trainer.training.parts.checkpoints import job_trainer
from trainer.training.references import References

if TYPE_CHECKING:
    from trainer.data.job import Job, Trained


class Kto:
    """Trains on single answers with labels."""

    name = "kto"
    order = 6
    label = "KTO"
    description = "Learns from single answers that are labelled good or bad, such as thumbs up and down."
    row_shape = "unpaired-preference"
    families = ("causal",)
    tasks = ("text-generation",)
    providers = ("standard",)
    best = ("eval_loss", False)
    why_one_worker = "kto compares the rows of a step, which several workers would divide"

    def train(self, job: Job) -> Trained:
        """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model` and `references`."""
        from trl import KTOConfig, KTOTrainer

        from trainer.training.parts.unpaired_loss import OTHER, OWN, OfStep, UnpairedLoss

        settings = job.settings
        dataset, _ = preferences.encoded_pairs(job)
        training, held_out = rows.training_and_held_out(job, dataset)
        desirable, undesirable = preferences.label_weights(job, training)
        size, accumulation = settings.per_device_train_batch_size, settings.gradient_accumulation_steps
        # Files are often sorted by label. The trainer takes the rows in order: those of a step stay together.
        training = preferences.with_other_answers(training.shuffle(seed=settings.seed), size * accumulation)
        if held_out is not None:
            held_out = preferences.with_other_answers(held_out, len(held_out))
        hardware = choose(settings, job.config)
        model = job.provider.base(job, hardware, "AutoModelForCausalLM")
        model, lora = job.provider.adapt_for_pairs(job, model)
        as_pairs = training.rename_columns({OWN: "chosen_ids", OTHER: "rejected_ids"})
        why = job.report_path(make_pairs_padding_free(model, as_pairs, hardware))
        references = References(job.rank)
        again = total_steps(settings, len(training)) > steps_per_epoch(settings, len(training))
        if job.resume is not None:
            references.load(job.resume.path)
        part = UnpairedLoss.of(base_references=references, again=again, padded=why is not None)
        columns = ["prompt_ids", OWN, OTHER, "label"]
        trainer = job_trainer(job, KTOTrainer, OfStep, part, TokenizedRows)(
            model=model,
            args=KTOConfig(
                **{
                    **training_arguments(job, hardware, len(training), held_out is not None),
                    # The library refuses 1, because its KL term is one of micro-batches.
                    "per_device_train_batch_size": max(2, size),
                },
                beta=settings.beta,
                desirable_weight=desirable,
                undesirable_weight=undesirable,
                max_length=None,
                router_aux_loss_coef=router_loss(model),
                prediction_loss_only=True,
            ),
            train_dataset=training.select_columns(columns),
            eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
            processing_class=job.tokenizer,
            peft_config=lora,
        )
        divide_step(trainer, size, accumulation)
        fuse_layers_for_pairs(trainer.model, as_pairs, hardware)
        trainer.references = references
        return fit_prompts(job, trainer, training, held_out, ("prompt_ids", OWN, OTHER))
