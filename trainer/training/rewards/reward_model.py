"""The reward model of rlhf: the one that the request names, or one that is trained here on the pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.data import rows
from trainer.kernels.install import install
from trainer.libraries.datasets import fingerprint
from trainer.libraries.peft import without_adapter
from trainer.model import load_report, view
from trainer.model.tokenizer import load_with_class
from trainer.padding_free.answers import make_rewards_padding_free, padded_rewards, rewards
from trainer.protocol.durable import write_json
from trainer.training.arguments import training_arguments
from trainer.training.parts.part import trainer_class
from trainer.training.parts.per_item import PerItem, sequences, with_positions
from trainer.training.parts.reward_loss import Collate, RewardLoss

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel, TrainerControl, TrainerState, TrainingArguments

    from trainer.data.job import Job
    from trainer.model.hardware import Hardware

# Share and largest number of pairs that the reward model is tested on when the job has no validation split.
# With 2,000 pairs the accuracy has a standard error of about one percent.
REWARD_TEST_SPLIT = 0.1
REWARD_TEST_ROWS = 2000
# Pairs that padding is tried on, and the most tokens of their prompts.
TRIED_PAIRS = 4
TRIED_PROMPT = 12


# The rewards of (prompt, completion, prompt ids, completion ids) tuples.
Score = Callable[[list[tuple[str, str, list[int], list[int]]]], list[float]]


def reward_function(
    job: Job, hardware: Hardware, training: Dataset, held_out: Dataset | None
) -> tuple[Score, float | None]:
    """A function from (prompt, completion, prompt ids, completion ids) tuples to rewards, and the accuracy of
    the reward model on held-out pairs if it was trained here."""
    if job.reward_dir is not None:
        return _load(job, hardware), None
    folder = job.folder / "reward"
    model = job.provider.base(job, hardware, "AutoModelForSequenceClassification", num_labels=1)
    model.config.pad_token_id = job.tokenizer.pad_token_id
    if not (folder / "done.json").exists():
        if held_out is None:
            split = min(REWARD_TEST_SPLIT, REWARD_TEST_ROWS / len(training))
            training, held_out = rows.random_split(training, split, job.settings.seed)
        model = _train(job, hardware, model, training, held_out, folder)
    else:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, folder / "adapter")
        install(model, hardware.device)
    accuracy = json.loads((folder / "done.json").read_text(encoding="utf-8"))["accuracy"]
    model.eval()
    judge = _Judge(job, model, job.tokenizer.pad_token_id, hardware)

    def score(answers: list[tuple[str, str, list[int], list[int]]]) -> list[float]:
        return judge.scores([[*prompt, *ids] for _, _, prompt, ids in answers])

    return score, accuracy


def _train(
    job: Job,
    hardware: Hardware,
    model: PreTrainedModel,
    training: Dataset,
    held_out: Dataset | None,
    folder: Path,
) -> PreTrainedModel:
    """Trains the reward model on the pairs, saves it in `folder` and returns it."""
    from transformers import TrainerCallback
    from transformers.trainer_callback import PrinterCallback
    from trl import RewardConfig, RewardTrainer

    class Progress(TrainerCallback):
        """Beats, answers stop requests and reports the progress of the reward model."""

        def on_step_end(
            self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
        ) -> None:
            job.beat_or_stop()
            detail = f"reward model: step {state.global_step} of {state.max_steps}"
            job.phase("train", state.global_step / state.max_steps, detail)

        def on_prediction_step(
            self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
        ) -> None:
            job.beat_or_stop()

    def whole(batch: dict[str, list[list[int]]], numbers: list[int]) -> dict[str, list[list[int]]]:
        job.beat_or_stop()
        if numbers[0] and numbers[0] % rows.CHUNK_ROWS == 0:
            rows.report_progress(job, numbers[0], "joined for the reward model")
        return {
            name: [[*prompt, *ids] for prompt, ids in zip(batch["prompt_ids"], batch[name], strict=True)]
            for name in ("chosen_ids", "rejected_ids")
        }

    def pairs(dataset: Dataset) -> Dataset:
        name = f"pairs-{fingerprint(dataset)}"
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
    install(model, hardware.device)
    plain = {
        **training_arguments(job, hardware, len(training), True),
        "output_dir": str(folder / "work"),
        "save_strategy": "no",
        "eval_strategy": "no",
        "eval_on_start": False,
        "lr_scheduler_type": "linear",
        "lr_scheduler_kwargs": {},
    }
    pad = job.tokenizer.pad_token_id
    why = make_rewards_padding_free(model, _tried(training), pad, hardware)
    if job.report_path(why, who="The reward model trains") is None:
        parts, collate = [PerItem.of(count=with_positions), RewardLoss], Collate(pad)
    else:
        parts, collate = [PerItem.of(count=sequences)], None
    trainer = trainer_class(RewardTrainer, *parts)(
        model=model,
        args=RewardConfig(**plain, max_length=None),
        data_collator=collate,
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
    metrics = {"reward_model_accuracy": accuracy, "reward_model_margin": float(figures["eval_margin"])}
    job.journal.write("eval", step=step, epoch=0.0, metrics=metrics)
    if accuracy <= 0.5:
        job.warn(
            "reward_model_weak",
            f"The reward model prefers the chosen answer in {accuracy:.0%} of the held-out pairs, no better "
            "than chance, so the policy will learn little. Add pairs, or pairs that differ more.",
        )
    model.save_pretrained(folder / "adapter", safe_serialization=True)
    write_json(folder / "done.json", {"accuracy": accuracy})
    return model


def _tried(training: Dataset) -> list[list[int]]:
    """Both answers of some pairs with the end of their prompt, to try whether rewards stay the same."""
    return [
        [*pair["prompt_ids"][-TRIED_PROMPT:], *pair[name]]
        for pair in training.select(range(min(TRIED_PAIRS, len(training))))
        for name in ("chosen_ids", "rejected_ids")
    ]


def _load(job: Job, hardware: Hardware) -> Score:
    """The rewards of the job's reward model, with its own tokenizer and template."""
    import torch
    from transformers import AutoModelForSequenceClassification

    assert job.reward_dir is not None
    tokenizer = load_with_class(job.reward_dir)
    model, report = AutoModelForSequenceClassification.from_pretrained(
        job.reward_dir,
        num_labels=1,
        use_safetensors=True,
        dtype=getattr(torch, hardware.weights),
        ignore_mismatched_sizes=True,
        output_loading_info=True,
        trust_remote_code=False,
        local_files_only=True,
    )
    load_report.check(model, report, view.read_json(job.reward_dir, "config.json"), new_head=False)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    model.to(hardware.device).eval()
    judge = _Judge(job, model, tokenizer.pad_token_id, hardware)

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
        return judge.scores(tokenizer(texts, add_special_tokens=not tokenizer.chat_template).input_ids)

    return score


class _Judge:
    """Rewards without padding if `model` then gives the same ones to the first answers, else with it."""

    def __init__(self, job: Job, model: PreTrainedModel, pad: int, hardware: Hardware) -> None:
        self._job, self._model, self._pad, self._hardware = job, model, pad, hardware
        self._padded: bool | None = None

    def scores(self, sequences: list[list[int]]) -> list[float]:
        """The reward of each sequence of token ids."""
        import torch

        model, pad = self._model, self._pad
        if self._padded is None:
            why = make_rewards_padding_free(model, sequences, pad, self._hardware)
            self._padded = self._job.report_path(why, who="The reward model judges") is not None
        with torch.no_grad():
            if self._padded:
                found = padded_rewards(model, sequences, pad)
            else:
                inner = without_adapter(model)
                found = rewards(inner, sequences, pad)
        return found.float().tolist()
