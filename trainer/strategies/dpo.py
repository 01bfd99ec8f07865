"""Direct preference optimization: makes the chosen answer more likely than the rejected one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.data import preferences, rows
from trainer.data.steps import steps_per_epoch, total_steps
from trainer.families.fit_prompts import fit_prompts
from trainer.libraries.trl import TokenizedRows
from trainer.model.hardware import choose
from trainer.padding_free.pairs import fuse_layers_for_pairs, make_pairs_padding_free
from trainer.training.arguments import router_loss, training_arguments
from trainer.training.parts.checkpoints import job_trainer
from trainer.training.parts.per_item import PerItem, sequences, with_lengths
from trainer.training.references import References

if TYPE_CHECKING:
    from trainer.data.job import Job, Trained


class Dpo:
    """Trains on preference pairs without a reward model."""

    name = "dpo"
    order = 3
    label = "DPO"
    description = "Learns from pairs of preferred and rejected answers."
    row_shape = "preference"
    families = ("causal",)
    tasks = ("text-generation",)
    providers = ("standard", "accelerated")
    best = ("eval_loss", False)

    def train(self, job: Job) -> Trained:
        """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model` and `references`."""
        from trl import DPOConfig, DPOTrainer

        from trainer.training.parts.pair_loss import PairLoss

        settings = job.settings
        dataset, _ = preferences.encoded_pairs(job)
        training, held_out = rows.training_and_held_out(job, dataset)
        hardware = choose(settings, job.config)
        model = job.provider.base(job, hardware, "AutoModelForCausalLM")
        model, lora = job.provider.adapt_for_pairs(job, model)
        columns = ["prompt_ids", "chosen_ids", "rejected_ids"]
        if job.provider.own_kernels:
            why: str | None = "the provider has its own kernels"
        else:
            why = make_pairs_padding_free(model, training.select_columns(columns), hardware)
        why = job.report_path(why)
        references = None
        if why is not None:
            parts = [PerItem.of(count=sequences)]
        else:
            references = References(job.rank)
            again = total_steps(settings, len(training)) > steps_per_epoch(settings, len(training))
            parts = [PerItem.of(count=with_lengths), PairLoss.of(base_references=references, again=again)]
            if job.resume is not None:
                references.load(job.resume.path)
        trainer = job_trainer(job, DPOTrainer, *parts, TokenizedRows)(
            model=model,
            args=DPOConfig(
                **training_arguments(job, hardware, len(training), held_out is not None),
                beta=settings.beta,
                loss_type=[settings.loss_type, *(["sft"] if settings.sft_weight else [])],
                loss_weights=[1.0, *([settings.sft_weight] if settings.sft_weight else [])],
                label_smoothing=settings.label_smoothing,
                max_length=None,
                router_aux_loss_coef=router_loss(model),
                prediction_loss_only=True,
            ),
            train_dataset=training.select_columns(columns),
            eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
            processing_class=job.tokenizer,
            peft_config=lora,
        )
        if "ref" in trainer.model.peft_config:
            # The library's copy of the untrained adapter; without it the base model is the reference.
            trainer.model.delete_adapter("ref")
        if not job.provider.own_kernels:
            fuse_layers_for_pairs(trainer.model, training, hardware)
        trainer.references = references
        return fit_prompts(job, trainer, training, held_out, ("prompt_ids", "chosen_ids", "rejected_ids"))
