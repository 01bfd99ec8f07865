"""Generations during training: samples, and the task's metrics on the validation split."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainer.data.encode import text_start
from trainer.data.rows import row_at
from trainer.data.template import render

if TYPE_CHECKING:
    from trainer.training.job import Job

# Validation rows that answers are generated for; a warning says when there are more.
SCORED_ROWS = 64
# Samples of an evaluation without `golden_prompts`.
SAMPLES = 3
# Most tokens of a generated answer.
MAX_NEW_TOKENS = 256
# Most characters of a text that is continued.
SHOWN_CHARACTERS = 200
BATCH = 8


# What is answered: a conversation that ends with the user's message, or the beginning of a text.
Prompt = list[dict[str, str]] | str


@dataclass(frozen=True)
class EvaluationPrompts:
    """The prompts of every evaluation: those to show, and those to score against references."""

    shown: list[Prompt]
    scored: list[Prompt]
    references: list[str]

    @staticmethod
    def of(job: Job, held_out: Any) -> EvaluationPrompts:
        """Those of the first validation rows, or the request's `golden_prompts`."""
        count = min(len(held_out), SCORED_ROWS if job.task.scored else SAMPLES)
        numbers = dict.fromkeys(int(number) for number in held_out.select(range(count))["row"])
        found = row_at(job, list(numbers))
        if job.shape == "text":
            conversations, prompts = [], [_beginning(row["text"]) for row in found]
        else:
            conversations = [job.messages(row) for row in found]
            prompts = [messages[:-1] for messages in conversations]
        if job.task.scored and len(held_out) > SCORED_ROWS:
            job.warn(
                "metrics_sampled",
                f"{', '.join(job.task.scored)} are computed on the first {SCORED_ROWS} of {len(held_out):,} "
                "validation rows.",
            )
        golden = [[{"role": "user", "content": text}] for text in job.settings.golden_prompts or ()]
        return EvaluationPrompts(
            shown=golden or prompts[:SAMPLES],
            scored=prompts if job.task.scored else [],
            references=[messages[-1]["content"] for messages in conversations] if job.task.scored else [],
        )


def shown_text(prompt: Prompt) -> str:
    """A prompt as it is shown: a single message without its role."""
    if isinstance(prompt, str):
        return prompt
    if len(prompt) == 1:
        return prompt[0]["content"]
    return "\n\n".join(f"{message['role']}: {message['content']}" for message in prompt)


def _beginning(text: str) -> str:
    """The first half of a text, at most SHOWN_CHARACTERS."""
    return text[: min(SHOWN_CHARACTERS, (len(text) + 1) // 2)]


def evaluate_answers(
    job: Job, trainer: Any, eval_prompts: EvaluationPrompts, answers: Callable[[list[Prompt]], list[str]]
) -> dict[str, float]:
    """Writes the samples to the journal; returns the task's metrics of the scored answers."""
    step = trainer.state.global_step
    prompts = {json.dumps(prompt): prompt for prompt in [*eval_prompts.scored, *eval_prompts.shown]}
    given = dict(zip(prompts, answers(list(prompts.values())), strict=True))
    for prompt in eval_prompts.shown:
        job.journal.write("sample", step=step, prompt=shown_text(prompt), text=given[json.dumps(prompt)])
    if not eval_prompts.scored:
        return {}
    return job.task.score(
        [given[json.dumps(prompt)] for prompt in eval_prompts.scored], eval_prompts.references
    )


def generate_answers(job: Job, model: Any, prompts: list[Prompt]) -> list[str]:
    """The model's greedy answer to each prompt, as the playground would give it."""
    import torch

    template, tokenizer = job.template, job.tokenizer
    ids = []
    for prompt in prompts:
        text = prompt if isinstance(prompt, str) else render(template, prompt, True)
        first = text_start(tokenizer) if isinstance(prompt, str) else []
        ids.append([*first, *tokenizer(text, add_special_tokens=False).input_ids])
    room = template.context_length or max(len(row) for row in ids) + MAX_NEW_TOKENS
    stops = [tokenizer.convert_tokens_to_ids(stop) for stop in template.stop]
    order = sorted(range(len(ids)), key=lambda index: len(ids[index]))
    given: dict[int, str] = {}
    was_training = model.training
    model.eval()
    try:
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            rows = [ids[index][: room - 1] for index in batch]
            width = max(len(row) for row in rows)
            padded = torch.tensor([[tokenizer.pad_token_id] * (width - len(row)) + row for row in rows])
            mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
            made = model.generate(
                input_ids=padded.to(model.device),
                attention_mask=mask.to(model.device),
                max_new_tokens=max(1, min(MAX_NEW_TOKENS, room - width)),
                do_sample=False,
                use_cache=True,
                eos_token_id=stops,
                pad_token_id=tokenizer.pad_token_id,
                stopping_criteria=[beat_or_stop_criterion(job)],
            )
            for index, row in zip(batch, made[:, width:].tolist(), strict=True):
                given[index] = tokenizer.decode(_before(row, stops), skip_special_tokens=True).strip()
    finally:
        model.train(was_training)
    return [given[index] for index in range(len(ids))]


def beat_or_stop_criterion(job: Job) -> Any:
    """A stopping criterion that beats at every token and raises Stopped, and never ends a generation."""
    import torch

    def criterion(input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        job.beat_or_stop()
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    return criterion


def _before(row: list[int], stops: list[int]) -> list[int]:
    """The tokens before the first stop token."""
    ends = [row.index(stop) for stop in stops if stop in row]
    return row[: min(ends)] if ends else row
