"""Direct preference optimization: the chosen answer becomes likelier than the rejected one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainer import loop, preferences, probe, rows
from trainer.families.causal import REFERENCE_ROWS
from trainer.fast.lora import quicken
from trainer.generate import Questions, answer, ask
from trainer.hardware import choose

if TYPE_CHECKING:
    from trainer.job import Job

# How strongly the model is held to what it was; TRL's and the paper's usual value.
BETA = 0.1


class Dpo:
    """Learns from pairs without a reward model."""

    name = "dpo"
    order = 3
    fields = preferences.FIELDS
    families = ("causal",)
    tasks = ("text-generation",)
    providers = ("standard", "accelerated")
    best = ("eval_loss", False)

    def messages(self, row: dict[str, Any]) -> list[dict[str, str]]:
        """The conversation that a row prefers."""
        return preferences.messages(row)

    def train(self, job: Job) -> dict[str, Any]:
        """Trains to the end or to a stop: `step`, `stopped`, `metrics`, `model` and `references`."""
        from trl import DPOConfig, DPOTrainer

        class Tokenized(DPOTrainer):
            """Takes the pairs as our one rule for prompts tokenized them."""

            def _prepare_dataset(self, dataset: Any, *args: Any) -> Any:
                return dataset

        settings = job.settings
        dataset, _ = preferences.encoded_pairs(job)
        training, held_out = rows.divide(dataset, settings.eval_split, settings.seed)
        hardware = choose(settings, job.config)
        model = job.provider.base(job, hardware, "AutoModelForCausalLM")
        model, lora = job.provider.adapt_for_pairs(job, model)
        columns = ["prompt_ids", "chosen_ids", "rejected_ids"]
        trainer = loop.job_trainer(Tokenized, job)(
            model=model,
            args=DPOConfig(
                **loop.arguments(job, hardware, len(training), held_out is not None),
                beta=BETA,
                loss_type=["sigmoid"],
                max_length=None,
                # What the margin was before: zero, by definition, but the samples are worth seeing.
                eval_on_start=held_out is not None and job.resume is None,
                prediction_loss_only=True,
            ),
            train_dataset=training.select_columns(columns),
            eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
            processing_class=job.tokenizer,
            peft_config=lora,
        )
        if "ref" in trainer.model.peft_config:
            # A copy that the library made of an adapter that says nothing yet; without it the base is asked.
            trainer.model.delete_adapter("ref")
        if not job.provider.own_kernels:
            quicken(trainer.model)
        if held_out is not None:
            questions = Questions.of(job, held_out)
            trainer.more_metrics = lambda: ask(
                job, trainer, questions, lambda texts: answer(job, trainer.model, texts)
            )
        probe.run(job, trainer, ("prompt_ids", "chosen_ids", "rejected_ids"))
        result = loop.fit(trainer, job)
        model = trainer.accelerator.unwrap_model(trainer.model)
        model.config.use_cache = True
        shown = held_out if held_out is not None else training
        references = [row["prompt_ids"] for row in shown.select(range(min(REFERENCE_ROWS, len(shown))))]
        return {**result, "model": model, "references": references}
