"""RLHF: trains a reward model on preference pairs, then optimizes the policy for its reward.

The policy is trained with RLOO (REINFORCE with a leave-one-out baseline) and a KL penalty. The request may
name a reward model; otherwise one is trained here, and its accuracy on held-out pairs is reported. The scores
of graders, each times its weight, are added to its reward.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from trainer.data import preferences, rows
from trainer.data.lengths import list_lengths
from trainer.data.steps import generations_of, prompts_per_step
from trainer.families.causal import REFERENCE_ROWS, some_rows
from trainer.libraries.trl import RenderedPrompts
from trainer.model.hardware import choose
from trainer.padding_free.pairs import fuse_layers_for_pairs
from trainer.training import generate
from trainer.training.arguments import router_loss, training_arguments
from trainer.training.fit import fit
from trainer.training.generate import PromptAnswers, generate_answers
from trainer.training.parts.checkpoints import job_trainer
from trainer.training.rewards.graded import graders_of
from trainer.training.rewards.groups import answers_per_prompt, why_padded
from trainer.training.rewards.reward_model import reward_function

if TYPE_CHECKING:
    from trainer.data.job import Job, Trained

# Weight of the KL penalty.
BETA = 0.05


class Rlhf:
    """Trains on preference pairs with a reward model."""

    name = "rlhf"
    order = 4
    label = "RLHF"
    description = "Trains a reward model on preference pairs, then optimizes the model against it."
    row_shape = "preference"
    families = ("causal",)
    tasks = ("text-generation",)
    providers = ("standard",)
    best = ("eval_reward", True)
    why_one_worker = "rlhf compares the answers to a prompt, which several workers would divide"

    def train(self, job: Job) -> Trained:
        """Trains to the end or to a stop; returns `step`, `stopped`, `metrics`, `model` and `references`."""
        from trl import RLOOConfig, RLOOTrainer

        from trainer.training.parts.policy import Policy

        settings = job.settings
        graders = graders_of(job)
        dataset, _ = preferences.encoded_pairs(job, graders.require_columns if graders else None)
        training, held_out = rows.training_and_held_out(job, dataset)
        hardware = choose(settings, job.config)
        count = answers_per_prompt(job, len(training))
        score, accuracy = reward_function(job, hardware, training, held_out)

        def reward_model(
            prompts: list[str], completions: list[str], completion_ids: list[list[int]], **_: object
        ) -> Any:
            job.beat_or_stop()
            ids = job.tokenizer(text=prompts, add_special_tokens=False)["input_ids"]
            return score([*zip(prompts, completions, ids, completion_ids, strict=True)])

        model = job.provider.base(job, hardware, "AutoModelForCausalLM")
        model.generation_config.eos_token_id = [
            job.tokenizer.convert_tokens_to_ids(stop) for stop in job.template.stop
        ]
        # The library adds the LoRA itself: it keeps a second copy of an existing adapter.
        lora = job.provider.lora(job, model, "CAUSAL_LM")
        longest_answer = max(list_lengths(training, name).max() for name in ("chosen_ids", "rejected_ids"))
        why = job.report_path(why_padded(model, training, training, hardware))
        parts = [Policy.of(job=job)] if why is None else []
        columns = ["prompt", "item"] if graders else ["prompt"]
        trainer = job_trainer(job, RLOOTrainer, *parts, RenderedPrompts)(
            model=model,
            reward_funcs=[reward_model, *(graders.functions() if graders else [])],
            args=RLOOConfig(
                **{
                    **training_arguments(
                        job,
                        hardware,
                        len(training),
                        held_out is not None,
                        prompts_per_step(settings, self.name),
                    ),
                    "remove_unused_columns": False,
                },
                reward_weights=[1.0, *(graders.weights if graders else [])],
                num_generations=count,
                num_generations_eval=generations_of(settings.per_device_eval_batch_size, count) or 1,
                max_completion_length=min(generate.MAX_NEW_TOKENS, math.ceil(longest_answer * 1.25 / 8) * 8),
                temperature=1.0,
                beta=BETA,
                router_aux_loss_coef=router_loss(model),
            ),
            train_dataset=training.select_columns(columns),
            eval_dataset=held_out.select_columns(columns) if held_out is not None else None,
            processing_class=job.tokenizer,
            peft_config=lora,
        )
        fuse_layers_for_pairs(trainer.model, training, hardware)
        trainer.eos_token_ids = model.generation_config.eos_token_id
        answers = partial(generate_answers, job, trainer.model)
        trainer.answers = PromptAnswers(job, trainer, training, held_out, answers, graders)
        result = fit(trainer, job)
        if accuracy is not None:
            result["metrics"]["reward_model_accuracy"] = accuracy
        model = trainer.accelerator.unwrap_model(trainer.model)
        model.config.use_cache = True
        shown = held_out if held_out is not None else training
        references = [
            (row["prompt_ids"], None) for row in shown.select(range(min(REFERENCE_ROWS, len(shown))))
        ]
        golden, seen = trainer.answers.for_export(), some_rows(job, training, ("prompt_ids",))
        return {**result, "model": model, "references": references, "golden": golden, "rows": seen}
