"""Answers of the model in training: sample generations, and the task's own metrics on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainer.rows import row_at
from trainer.template import render

if TYPE_CHECKING:
    from trainer.job import Job

# Answers are generated for at most this many held-out rows per evaluation; it is told when there are more.
SCORED_ROWS = 64
# Shown at every evaluation when the caller names no prompts.
SAMPLES = 3
# Answers longer than any reference are cut here, in tokens.
LONGEST_ANSWER = 256
BATCH = 8


@dataclass(frozen=True)
class Questions:
    """What is asked at every evaluation: prompts to show, and prompts with references to score."""

    shown: list[str]
    scored: list[str]
    references: list[str]

    @staticmethod
    def of(job: Job, held_out: Any) -> Questions:
        """The first held-out rows, or the caller's `golden_prompts`, as the user's texts."""
        count = min(len(held_out), SCORED_ROWS if job.task.scored else SAMPLES)
        numbers = [int(number) for number in held_out.select(range(count))["row"]]
        texts = row_at(job, numbers)
        conversations = [job.messages(row) for row in texts]
        users = [messages[-2]["content"] for messages in conversations]
        if job.task.scored and len(held_out) > SCORED_ROWS:
            job.warn(
                "metrics_sampled",
                f"{', '.join(job.task.scored)} are computed on the first {SCORED_ROWS} of {len(held_out):,} "
                "validation rows.",
            )
        return Questions(
            shown=job.settings.golden_prompts or users[:SAMPLES],
            scored=users if job.task.scored else [],
            references=[messages[-1]["content"] for messages in conversations] if job.task.scored else [],
        )


def ask(
    job: Job, trainer: Any, questions: Questions, answers: Callable[[list[str]], list[str]]
) -> dict[str, float]:
    """Writes the samples to the journal and returns the task's metrics of the scored answers."""
    step = trainer.state.global_step
    texts = list(dict.fromkeys([*questions.scored, *questions.shown]))
    given = dict(zip(texts, answers(texts), strict=True))
    for text in questions.shown:
        job.journal.write("sample", step=step, prompt=text, text=given[text])
    if not questions.scored:
        return {}
    return job.task.score([given[text] for text in questions.scored], questions.references)


def answer(job: Job, model: Any, texts: list[str]) -> list[str]:
    """The model's greedy answer to each of the user's texts, as the playground would give it."""
    import torch

    template, tokenizer = job.template, job.tokenizer
    prompts = [render(template, [{"role": "user", "content": text}], True) for text in texts]
    ids = [tokenizer(prompt, add_special_tokens=False).input_ids for prompt in prompts]
    room = template.context_length or max(len(row) for row in ids) + LONGEST_ANSWER
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
                max_new_tokens=max(1, min(LONGEST_ANSWER, room - width)),
                do_sample=False,
                use_cache=True,
                eos_token_id=stops,
                pad_token_id=tokenizer.pad_token_id,
                stopping_criteria=[alive_criterion(job)],
            )
            for index, row in zip(batch, made[:, width:].tolist(), strict=True):
                given[index] = tokenizer.decode(_before(row, stops), skip_special_tokens=True).strip()
    finally:
        model.train(was_training)
    return [given[index] for index in range(len(texts))]


def alive_criterion(job: Job) -> Any:
    """A stopping criterion that never stops a text but beats at every token, and raises Stopped."""
    import torch

    def criterion(input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        job.alive()
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    return criterion


def _before(row: list[int], stops: list[int]) -> list[int]:
    """The tokens before the first stop."""
    ends = [row.index(stop) for stop in stops if stop in row]
    return row[: min(ends)] if ends else row
