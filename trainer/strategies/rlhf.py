"""RLHF: a reward model learns what is preferred, then the policy is optimized against it.

The policy's optimizer is RLOO (REINFORCE with a leave-one-out baseline) with a penalty for leaving the base
model. A reward model can be given; else one is trained here from the pairs, and how often it is right on
held-out pairs is told.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer import loop, preferences, rows
from trainer.durable import write_json
from trainer.failures import Failure
from trainer.families.causal import REFERENCE_ROWS
from trainer.fast.lora import quicken
from trainer.generate import LONGEST_ANSWER, Questions, answer, ask
from trainer.hardware import choose
from trainer.lengths import list_lengths

if TYPE_CHECKING:
    from trainer.job import Job

# Weight of the penalty for leaving the base model (KL divergence), and answers tried per prompt.
BETA = 0.05
GENERATIONS = 4
# Part of the pairs that the reward model is tested on when the job itself holds none out, and the most of
# them: of 2000, the share that is judged right has a standard error of about one percent.
REWARD_TEST_SPLIT = 0.1
REWARD_TEST_ROWS = 2000


class Rlhf:
    """Learns from pairs through a reward model."""

    name = "rlhf"
    order = 4
    fields = preferences.FIELDS
    families = ("causal",)
    tasks = ("text-generation",)
    providers = ("standard",)
    best = ("eval_reward", True)

    def messages(self, row: dict[str, Any]) -> list[dict[str, str]]:
        """The conversation that a row prefers."""
        return preferences.messages(row)

    def train(self, job: Job) -> dict[str, Any]:
        """Trains to the end or to a stop: `step`, `stopped`, `metrics`, `model` and `references`."""
        from trl import RLOOConfig, RLOOTrainer

        settings = job.settings
        dataset, _ = preferences.encoded_pairs(job)
        training, held_out = rows.divide(dataset, settings.eval_split, settings.seed)
        hardware = choose(settings, job.config)
        generations = _generations(settings)
        score, accuracy = _reward(job, hardware, training, held_out)

        class Policy(RLOOTrainer):
            """Tokenizes prompts by our one rule: they are rendered texts with their special tokens."""

            def _tokenize_prompts(self, prompts: list[str]) -> Any:
                ids = self.processing_class(text=prompts, add_special_tokens=False)["input_ids"]
                return ids, None, {}

        def reward(
            prompts: list[str], completions: list[str], completion_ids: list[list[int]], **_: Any
        ) -> Any:
            job.alive()
            ids = job.tokenizer(text=prompts, add_special_tokens=False)["input_ids"]
            return score([*zip(prompts, completions, ids, completion_ids, strict=True)])

        model = job.provider.base(job, hardware, "AutoModelForCausalLM")
        model.generation_config.eos_token_id = [
            job.tokenizer.convert_tokens_to_ids(stop) for stop in job.template.stop
        ]
        # The library adapts the model itself: of one that is adapted already it would keep a second adapter.
        lora = job.provider.lora(job, model, "CAUSAL_LM")
        longest_answer = max(list_lengths(training, name).max() for name in ("chosen_ids", "rejected_ids"))
        trainer = loop.job_trainer(Policy, job)(
            model=model,
            reward_funcs=[reward],
            args=RLOOConfig(
                **{
                    **loop.arguments(job, hardware, len(training) * generations, held_out is not None),
                    "remove_unused_columns": False,
                },
                num_generations=generations,
                num_generations_eval=min(generations, settings.per_device_eval_batch_size),
                max_completion_length=min(LONGEST_ANSWER, math.ceil(longest_answer * 1.25 / 8) * 8),
                temperature=1.0,
                beta=BETA,
                # What the base model earns, to compare with.
                eval_on_start=held_out is not None and job.resume is None,
            ),
            train_dataset=training.select_columns(["prompt"]),
            eval_dataset=held_out.select_columns(["prompt"]) if held_out is not None else None,
            processing_class=job.tokenizer,
            peft_config=lora,
        )
        quicken(trainer.model)
        trainer.eos_token_ids = model.generation_config.eos_token_id
        if held_out is not None:
            questions = Questions.of(job, held_out)
            trainer.more_metrics = lambda: ask(
                job, trainer, questions, lambda texts: answer(job, trainer.model, texts)
            )
        result = loop.fit(trainer, job)
        if accuracy is not None:
            result["metrics"]["reward_model_accuracy"] = accuracy
        model = trainer.accelerator.unwrap_model(trainer.model)
        model.config.use_cache = True
        shown = held_out if held_out is not None else training
        references = [row["prompt_ids"] for row in shown.select(range(min(REFERENCE_ROWS, len(shown))))]
        return {**result, "model": model, "references": references}


def _generations(settings: Any) -> int:
    """Answers per prompt: the most up to GENERATIONS that divide the batch; Failure when there is no pair."""
    batch = settings.per_device_train_batch_size * settings.gradient_accumulation_steps
    found = [count for count in range(GENERATIONS, 1, -1) if batch % count == 0]
    if not found:
        raise Failure(
            "unsupported",
            f"rlhf compares at least two answers to a prompt within a step, and a step has {batch}.",
            "Set per_device_train_batch_size or gradient_accumulation_steps so that their product is a "
            f"multiple of {GENERATIONS}.",
        )
    return found[0]


def _reward(job: Job, hardware: Any, training: Any, held_out: Any) -> tuple[Any, float | None]:
    """A function from (prompt, completion, prompt ids, completion ids) tuples to rewards, and the accuracy
    of the reward model on held-out pairs where it was trained here."""
    if job.reward_dir is not None:
        return _given_reward(job), None
    folder = job.folder / "reward"
    model = job.provider.base(job, hardware, "AutoModelForSequenceClassification", num_labels=1)
    model.config.pad_token_id = job.tokenizer.pad_token_id
    if not (folder / "done.json").exists():
        if held_out is None:
            split = min(REWARD_TEST_SPLIT, REWARD_TEST_ROWS / len(training))
            training, held_out = rows.divide(training, split, job.settings.seed)
        model = _train_reward(job, hardware, model, training, held_out, folder)
    else:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, folder / "adapter")
    accuracy = json.loads((folder / "done.json").read_text(encoding="utf-8"))["accuracy"]
    model.eval()

    def score(answers: list[tuple[str, str, list[int], list[int]]]) -> list[float]:
        return _scores(model, [[*prompt, *ids] for _, _, prompt, ids in answers], job.tokenizer.pad_token_id)

    return score, accuracy


def _train_reward(job: Job, hardware: Any, model: Any, training: Any, held_out: Any, folder: Path) -> Any:
    """Trains the reward model on the pairs and keeps it in `folder`; returns it."""
    from transformers import TrainerCallback
    from transformers.trainer_callback import PrinterCallback
    from trl import RewardConfig, RewardTrainer

    class Progress(TrainerCallback):
        """Beats, heeds stops and tells how far the reward model is."""

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            job.alive()
            detail = f"reward model: step {state.global_step} of {state.max_steps}"
            job.phase("train", state.global_step / state.max_steps, detail)

        def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            job.alive()

    def whole(batch: dict[str, list[Any]], numbers: list[int]) -> dict[str, list[Any]]:
        job.alive()
        if numbers[0] and numbers[0] % rows.PIECE_ROWS == 0:
            rows.tell(job, numbers[0], "joined for the reward model")
        return {
            name: [[*prompt, *ids] for prompt, ids in zip(batch["prompt_ids"], batch[name], strict=True)]
            for name in ("chosen_ids", "rejected_ids")
        }

    def pairs(dataset: Any) -> Any:
        name = f"pairs-{dataset._fingerprint}"
        kept = dataset.select_columns(["prompt_ids", "chosen_ids", "rejected_ids"])
        path = str(job.folder / "cache" / f"{name}.arrow")
        return kept.map(
            whole,
            batched=True,
            with_indices=True,
            remove_columns=["prompt_ids"],
            cache_file_name=path,
            new_fingerprint=name,
        )

    model = job.provider.adapt(job, model, "SEQ_CLS", also_train=["score"])
    quicken(model)
    plain = {
        **loop.arguments(job, hardware, len(training), True),
        "output_dir": str(folder / "work"),
        "save_strategy": "no",
        "eval_strategy": "no",
        "lr_scheduler_type": "linear",
        "lr_scheduler_kwargs": {},
    }
    trainer = RewardTrainer(
        model=model,
        args=RewardConfig(**plain, max_length=None),
        train_dataset=pairs(training),
        eval_dataset=pairs(held_out),
        processing_class=job.tokenizer,
        callbacks=[Progress()],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    figures = trainer.evaluate()
    accuracy = float(figures["eval_accuracy"])
    step = 0
    told = {"reward_model_accuracy": accuracy, "reward_model_margin": float(figures["eval_margin"])}
    job.journal.write("eval", step=step, epoch=0.0, metrics=told)
    if accuracy <= 0.5:
        job.warn(
            "reward_model_weak",
            f"The reward model prefers the right answer in {accuracy:.0%} of the held-out pairs, no better "
            "than chance; the policy will learn little. More pairs, or clearer ones, help.",
        )
    model.save_pretrained(folder / "adapter", safe_serialization=True)
    write_json(folder / "done.json", {"accuracy": accuracy})
    return model


def _given_reward(job: Job) -> Any:
    """Scores with the reward model that the job names, through its own tokenizer and template."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    options = {"trust_remote_code": False, "local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(job.reward_dir, **options)
    model = AutoModelForSequenceClassification.from_pretrained(
        job.reward_dir, num_labels=1, use_safetensors=True, **options
    )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    model.to(choose(job.settings, job.config).device).eval()

    def score(answers: list[tuple[str, str, list[int], list[int]]]) -> list[float]:
        texts = []
        for prompt, completion, _, _ in answers:
            for stop in job.template.stop:
                completion = completion.replace(stop, "")
            if tokenizer.chat_template:
                turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": completion}]
                texts.append(tokenizer.apply_chat_template(turns, tokenize=False))
            else:
                texts.append(prompt + completion)
        ids = tokenizer(texts, add_special_tokens=not tokenizer.chat_template).input_ids
        return _scores(model, ids, tokenizer.pad_token_id)

    return score


def _scores(model: Any, sequences: list[list[int]], pad: int) -> list[float]:
    """The reward of each sequence of token ids."""
    import torch

    width = max(map(len, sequences))
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in sequences])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in sequences])
    device = next(model.parameters()).device
    with torch.inference_mode():
        logits = model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
    return [float(value) for value in logits[:, 0]]
