"""GRPO (group-relative policy optimization): optimizes the policy for what graders say of its answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from trainer.data import rows
from trainer.data.steps import generations_of, prompts_per_step
from trainer.families.causal import REFERENCE_ROWS, some_rows
from trainer.libraries.trl import RenderedPrompts
from trainer.model.hardware import choose
from trainer.padding_free.pairs import fuse_layers_for_pairs
from trainer.protocol.failures import Failure
from trainer.training.arguments import router_loss, training_arguments
from trainer.training.fit import fit
from trainer.training.generate import PromptAnswers, generate_answers
from trainer.training.parts.checkpoints import job_trainer
from trainer.training.rewards.answer_format import AnswerFormat
from trainer.training.rewards.graded import Graders, refuse_equal_rewards
from trainer.training.rewards.groups import answers_per_prompt, why_padded
from trainer.training.rewards.prompts import encoded_prompts, pairs_of

if TYPE_CHECKING:
    from trainer.data.job import Job, Trained


class Grpo:
    """Trains on prompts with graders."""

    name = "grpo"
    order = 5
    label = "GRPO"
    description = "Answers your prompts several times, and learns from what graders say of the answers."
    row_shape = "prompt"
    families = ("causal",)
    tasks = ("text-generation",)
    providers = ("standard",)
    best = ("eval_reward", True)
    why_one_worker = "grpo compares the answers to a prompt, which several workers would divide"

    def train(self, job: Job) -> Trained:
        """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model` and `references`."""
        from trl import GRPOConfig, GRPOTrainer

        from trainer.training.parts.policy import GroupPolicy

        settings = job.settings
        if not settings.graders:
            raise Failure("unsupported", "grpo needs graders, and the run has none.", "Name some in graders.")
        graders = Graders(job)
        dataset, longest_answer = encoded_prompts(job, graders.require_columns)
        training, held_out = rows.training_and_held_out(job, dataset)
        hardware = choose(settings, job.config)
        count = answers_per_prompt(job, len(training))
        model = job.provider.base(job, hardware, "AutoModelForCausalLM")
        model.generation_config.eos_token_id = [
            job.tokenizer.convert_tokens_to_ids(stop) for stop in job.template.stop
        ]
        # The library adds the LoRA itself: it keeps a second copy of an existing adapter.
        lora = job.provider.lora(job, model, "CAUSAL_LM")
        pairs = pairs_of(training)
        why = job.report_path(why_padded(model, pairs, training, hardware))
        answer_format = AnswerFormat.of(job, model, why)
        parts = [GroupPolicy.of(job=job, answer_format=answer_format)] if why is None else []
        prompts = prompts_per_step(settings, self.name)
        columns = ["prompt", "item"]
        trainer = job_trainer(job, GRPOTrainer, *parts, RenderedPrompts)(
            model=model,
            reward_funcs=graders.functions(),
            args=GRPOConfig(
                **{
                    **training_arguments(job, hardware, len(training), held_out is not None, prompts),
                    "remove_unused_columns": False,
                },
                reward_weights=graders.weights,
                num_generations=count,
                num_generations_eval=generations_of(settings.per_device_eval_batch_size, count) or 1,
                max_completion_length=longest_answer,
                temperature=1.0,
                beta=settings.kl_beta,
                router_aux_loss_coef=router_loss(model),
            ),
            train_dataset=training.select_columns(columns),
            eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
            processing_class=job.tokenizer,
            peft_config=lora,
        )
        fuse_layers_for_pairs(trainer.model, pairs, hardware)
        trainer.eos_token_ids = model.generation_config.eos_token_id
        answers = partial(generate_answers, job, trainer.model, answer_format=answer_format)
        trainer.answers = PromptAnswers(job, trainer, training, held_out, answers, graders)
        if job.resume is None:
            refuse_equal_rewards(job, trainer, training, graders)
        result = fit(trainer, job)
        model = trainer.accelerator.unwrap_model(trainer.model)
        model.config.use_cache = True
        shown = held_out if held_out is not None else training
        references = [
            (row["prompt_ids"], None) for row in shown.select(range(min(REFERENCE_ROWS, len(shown))))
        ]
        golden, seen = trainer.answers.for_export(), some_rows(job, training, ("prompt_ids",))
        return {**result, "model": model, "references": references, "golden": golden, "rows": seen}
