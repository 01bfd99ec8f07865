"""Generations during training: the answers that are shown, and the task's metrics on the validation split."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from trainer.data import pairs, thinking, tools
from trainer.data.encode import text_start
from trainer.data.rows import row_at
from trainer.data.template import render, split
from trainer.data.tools import Given
from trainer.grading.score import figure
from trainer.training import answer_budget

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor
    from transformers import PreTrainedModel, Trainer

    from trainer.data.job import Job
    from trainer.grading.score import Grader
    from trainer.protocol.row import Row
    from trainer.training.rewards.answer_format import AnswerFormat

# Prompts that are shown without `golden_prompts`.
SAMPLES = 3
# Trained rows that are looked at for so many different prompts.
MOST_LOOKED_AT = 32
# Most tokens of a generated answer.
MAX_NEW_TOKENS = 256
# Most characters of a text that is continued.
SHOWN_CHARACTERS = 200
# Prompts that the library answers at once.
BATCH = 8


# What is answered: a conversation that ends with the user's message, or the beginning of a text.
Prompt = list[Given] | str
# What is told how many answers are done, parts of them included.
Done = Callable[[float], None]


@dataclass(frozen=True)
class Shown:
    """A prompt whose answers are shown, with the answer that is wanted, if that is known."""

    prompt: Prompt
    reference: str | None
    # The row that graders score answers by.
    item: Row | None = None
    # Its own one, in place of those of the run.
    grader: Grader | None = None

    @property
    def offered(self) -> tuple[str, ...]:
        """The names of the tools that the prompt offers."""
        return () if isinstance(self.prompt, str) else tools.names_of(self.prompt)


class Scores(Protocol):
    """What graders say of answers (`rewards/graded.py`)."""

    names: list[str]

    def of_answers(self, rows: Sequence[Shown], answers: Sequence[str]) -> list[dict[str, float | None]]:
        """The scores of each answer by name, None where a grader cannot score it."""

    def of_sample(self, row: Shown, answer: str) -> dict[str, float | None]:
        """The scores of an answer to a prompt that is shown."""


@dataclass(frozen=True)
class EvaluationPrompts:
    """The prompts of a run: those to show, and those to score against references in evaluations."""

    shown: list[Shown]
    scored: list[Shown]
    # The most tokens of an answer.
    most: int

    @staticmethod
    def of(job: Job, batched: Dataset, training: Dataset, held_out: Dataset | None) -> EvaluationPrompts:
        """Those of the first validation rows, if there are any, within the budget that a training on the rows
        of `batched`, the trainer's own dataset, leaves; else those of the first rows of `training`, to show
        what was memorized. The request's `golden_prompts` are shown instead, also if there are none.

        `training` and `held_out` have the numbers of their rows (`job_rows`).
        """
        from pyarrow.compute import list_value_length

        asked = job.settings.golden_prompts
        golden = [_golden(one) for one in asked or ()]
        if held_out is None:
            if asked is not None:
                return EvaluationPrompts(golden, [], MAX_NEW_TOKENS)
            rows, most = _of_rows(job, _first(job, training, MOST_LOOKED_AT))
            different: dict[str, Shown] = {}
            for row in rows:
                different.setdefault(json.dumps(row.prompt), row)
            return EvaluationPrompts(list(different.values())[:SAMPLES], [], most)
        figures = [*job.task.scored, *job.evaluated_by]
        may_score = figures or job.shape == "messages"
        first = _first(job, held_out, answer_budget.MOST_ROWS if may_score else SAMPLES)
        if not figures and not any(row.get("tools") for row in first):
            first = first[:SAMPLES]
        rows, most = _of_rows(job, first)
        shown = golden or rows[:SAMPLES]
        scored = rows if figures else [row for row in rows if row.offered and row.reference is not None]
        if not scored:
            return EvaluationPrompts(shown, [], MAX_NEW_TOKENS if golden else most)
        learned = (batched, "input_ids")
        if job.shape in pairs.ANSWERS:
            learned = (training, f"{pairs.ANSWERS[job.shape][0]}_ids")
        lengths = list_value_length(learned[0].with_format("arrow")[:][learned[1]])
        count = answer_budget.scored_rows(job.settings, len(batched), lengths.to_numpy().sum(), most)
        if len(held_out) > count:
            computed = ", ".join(figures or tools.FIGURES)
            job.warn(
                "metrics_sampled",
                f"{computed} are computed on the first {min(count, len(scored))} of "
                f"{len(held_out):,} validation rows, with answers of up to {most} tokens: more "
                "would take over a tenth of the training's time, or are not needed for a figure.",
            )
        return EvaluationPrompts(shown, scored[:count], most)


def _golden(asked: str | dict[str, Any]) -> Shown:
    """A prompt of the request, with the grader that tests its answer, if it has one."""
    if isinstance(asked, str):
        asked = {"prompt": asked}
    prompt: list[Given] = [{"role": "user", "content": asked["prompt"]}]
    grader = asked.get("grader")
    return Shown(prompt, asked.get("reference"), asked["item"] if grader else None, grader)


def _first(job: Job, dataset: Dataset, count: int) -> list[Row]:
    """The rows of which the first `count` sequences of `dataset` were made."""
    numbers = dataset.select(range(min(count, len(dataset))))["row"]
    return row_at(job, list(dict.fromkeys(int(number) for number in numbers)))


def _of_rows(job: Job, found: list[Row]) -> tuple[list[Shown], int]:
    """The prompts of rows with their references, and the most tokens of an answer to them."""
    if job.shape == "text":
        rows = [Shown(*_halves(row["text"])) for row in found]
        written = [row.reference or "" for row in rows]
    elif job.shape == "prompt":
        rows = [Shown(job.messages(row)[:-1], None, row) for row in found]
        return rows, min(MAX_NEW_TOKENS, job.settings.max_answer_tokens)
    else:
        conversations = [job.messages(row) for row in found]
        # A wrong answer is none to compare with.
        wrong = [job.shape == "unpaired-preference" and not row["label"] for row in found]
        rows = [
            Shown(messages[:-1], None if bad else reference_of(job, messages), row)
            for row, messages, bad in zip(found, conversations, wrong, strict=True)
        ]
        written = written_answers(job, conversations)
    return rows, answer_budget.longest_answer(job.tokenizer, written, MAX_NEW_TOKENS)


def reference_of(job: Job, messages: list[Given]) -> str:
    """The last answer as it is compared with generated ones: one with calls as the model writes it."""
    if "tool_calls" not in messages[-1]:
        return messages[-1]["content"]
    template, tokenizer = job.template, job.tokenizer
    ids = tokenizer(split(template, messages)[1], add_special_tokens=False).input_ids
    stops = [tokenizer.convert_tokens_to_ids(stop) for stop in template.stop]
    return without_reasoning(job, answer_text(thinking.decoder(tokenizer, template.thinking), ids, stops))


def written_answers(job: Job, conversations: list[list[Given]]) -> list[str]:
    """The last answers as the model is to write them: with their reasoning and their calls, if they have
    any."""
    reasons = job.family == "causal" and job.template.thinking is not None
    return [
        split(job.template, messages)[1]
        if reasons or "tool_calls" in messages[-1]
        else messages[-1]["content"]
        for messages in conversations
    ]


def without_reasoning(job: Job, answer: str) -> str:
    """An answer as it is scored: what follows its reasoning."""
    described = job.template.thinking
    return answer if described is None else thinking.without_reasoning(described, answer, described["opens"])


def shown_text(prompt: Prompt) -> str:
    """A prompt as it is shown: a single message without its role."""
    if isinstance(prompt, str):
        return prompt
    if len(prompt) == 1:
        return prompt[0]["content"]
    return "\n\n".join(f"{message['role']}: {tools.text_of(message)}" for message in prompt)


def _halves(text: str) -> tuple[str, str]:
    """The first half of a text, at most SHOWN_CHARACTERS, and as much of what follows."""
    middle = min(SHOWN_CHARACTERS, (len(text) + 1) // 2)
    return text[:middle], text[middle : 2 * middle]


class PromptAnswers:
    """What the model of `trainer` answers to the prompts of its run: in evaluations, of which the first is
    that of the base model, and for checkpoints. `answers` generates them, each of up to so many tokens, and
    tells how many are done; `graders` score them."""

    def __init__(
        self,
        job: Job,
        trainer: Trainer,
        training: Dataset,
        held_out: Dataset | None,
        answers: Callable[[list[Prompt], int, Done], list[str]],
        graders: Scores | None = None,
    ) -> None:
        self.prompts = EvaluationPrompts.of(job, trainer.train_dataset, training, held_out)
        self._job, self._trainer, self._answers, self._graders = job, trainer, answers, graders
        # The step whose answers were shown last, and these.
        self._shown_at: int | None = None
        self._shown: list[str] = []

    def in_evaluation(self) -> dict[str, float]:
        """Shows the answers; returns the figures of the scored ones."""
        prompts = self.prompts
        given = self._show("evaluate", [row.prompt for row in prompts.scored])
        if not prompts.scored:
            return {}
        whole = [given[json.dumps(row.prompt)] for row in prompts.scored]
        answers = [without_reasoning(self._job, answer) for answer in whole]
        references = [row.reference or "" for row in prompts.scored]
        of_task = self._job.task.score(answers, references) if self._job.task.scored else {}
        of_tools = tools.figures(answers, references, [row.offered for row in prompts.scored])
        return of_task | of_tools | self._means(prompts.scored, whole)

    def _means(self, rows: list[Shown], answers: list[str]) -> dict[str, float]:
        """The mean of each grader's scores; an answer that it cannot score counts as 0."""
        if self._graders is None or not self._job.evaluated_by:
            return {}
        scores = self._graders.of_answers(rows, answers)
        return {
            figure(name): sum(one[name] or 0.0 for one in scores) / len(scores)
            for name in self._graders.names
        }

    def outside_evaluation(self) -> None:
        """Shows the answers unless an evaluation of this step did, or the run is being stopped."""
        if self._job.stop.reason() is None and self._show("train", []):
            self._trainer.reporter.tell_steps()

    def _show(self, phase: str, others: list[Prompt]) -> dict[str, str]:
        """Writes the answers of this step to the journal, once; returns them with those to `others`."""
        step = self._trainer.state.global_step
        of_parent = self._trainer.reporter.asks_parent
        shown = self.prompts.shown if self._shown_at != step and not of_parent else []
        asked = {json.dumps(prompt): prompt for prompt in [*others, *(row.prompt for row in shown)]}
        answers = []
        if asked:
            of_base = "" if step > 0 else f"the {self._trainer.reporter.first_asked}, "
            done = self._job.count(phase, f"{of_base}answer", len(asked))
            answers = self._answers(list(asked.values()), self.prompts.most, done)
        given = dict(zip(asked, answers, strict=True))
        for row in shown:
            text = given[json.dumps(row.prompt)]
            self._job.journal.write(
                "sample",
                step=step,
                prompt=shown_text(row.prompt),
                text=text,
                reference=row.reference,
                file=None,
                scores=None
                if self._graders is None or row.item is None
                else self._graders.of_sample(row, text),
            )
        if of_parent:
            return given
        if shown:
            self._shown = [given[json.dumps(row.prompt)] for row in shown]
        self._shown_at = step
        return given

    def for_export(self) -> list[dict[str, object]]:
        """What the exported file is asked: each prompt to show as text and as `tokens`, its `reference`, and
        `max_tokens`, which leaves an answer twice the room that the trained model's answers take."""
        tokenizer, room = self._job.tokenizer, self._job.template.context_length
        longest = max((len(ids) for ids in tokenizer(self._shown).input_ids), default=0) if self._shown else 0
        most = min(MAX_NEW_TOKENS, 2 * longest + 16)
        asked: list[dict[str, object]] = []
        for row in self.prompts.shown:
            tokens = prompt_ids(self._job, row.prompt)[: room - 1 if room else None]
            asked.append(
                {
                    "prompt": shown_text(row.prompt),
                    "reference": row.reference,
                    "tokens": tokens,
                    "max_tokens": min(most, room - len(tokens)) if room else most,
                }
            )
        return asked


def contents(prompts: Iterable[Prompt]) -> list[str]:
    """The text of each prompt: its last message."""
    return [prompt if isinstance(prompt, str) else prompt[-1]["content"] for prompt in prompts]


def prompt_ids(job: Job, prompt: Prompt) -> list[int]:
    """The token ids of a prompt, as the playground would send it."""
    tokenizer = job.tokenizer
    text = prompt if isinstance(prompt, str) else render(job.template, prompt, True)
    first = text_start(tokenizer) if isinstance(prompt, str) else []
    return [*first, *tokenizer(text, add_special_tokens=False).input_ids]


def generate_answers(
    job: Job,
    model: PreTrainedModel,
    prompts: Sequence[Prompt],
    longest: int,
    done: Done = lambda count: None,
    *,
    answer_format: AnswerFormat | None = None,
) -> list[str]:
    """The model's greedy answer to each prompt, as the playground would give it, of up to `longest`
    tokens. Only models that are continued without padding are held to an `answer_format`."""
    from trainer.padding_free.continuing import continue_prompts, greedy, rows_at_once, why_not_continued

    template, tokenizer = job.template, job.tokenizer
    decode = thinking.decoder(tokenizer, template.thinking)
    ids = [prompt_ids(job, prompt) for prompt in prompts]
    room = template.context_length or max(len(row) for row in ids) + longest
    ids = [row[: room - 1] for row in ids]
    most = [max(1, min(longest, room - len(row))) for row in ids]
    stops = [tokenizer.convert_tokens_to_ids(stop) for stop in template.stop]
    order = sorted(range(len(ids)), key=lambda index: len(ids[index]))
    given: dict[int, str] = {}
    weights = str(model.dtype).removeprefix("torch.")
    padded = answer_format is None and (
        job.provider.own_kernels or not all(ids) or why_not_continued(model, ids, weights) is not None
    )

    def step(of_batch: float) -> None:
        job.beat_or_stop()
        done(len(given) + of_batch)

    while order:
        count = BATCH if padded else rows_at_once(model, len(ids[order[-1]]) + longest)
        batch, order = order[:count], order[count:]
        rows, lengths = [ids[index] for index in batch], [most[index] for index in batch]
        if padded:
            made = _by_library(job, model, rows, lengths, stops, step)
        else:
            sampler = greedy if answer_format is None else answer_format.sampler(greedy, len(rows))
            made = continue_prompts(model, rows, most=lengths, ends=stops, sampler=sampler, step=step)
        for index, row in zip(batch, made, strict=True):
            given[index] = answer_text(decode, row, stops)
    return [given[index] for index in range(len(ids))]


def _by_library(
    job: Job, model: PreTrainedModel, rows: list[list[int]], most: list[int], stops: list[int], step: Done
) -> list[list[int]]:
    """The tokens of the greedy answer to each of `rows`, at most as many as `most` has for it."""
    import torch

    width, pad = max(len(row) for row in rows), job.tokenizer.pad_token_id
    padded = torch.tensor([[pad] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    was_training = model.training
    model.eval()
    try:
        made = model.generate(
            input_ids=padded.to(model.device),
            attention_mask=mask.to(model.device),
            max_new_tokens=max(most),
            do_sample=False,
            use_cache=True,
            eos_token_id=stops,
            pad_token_id=pad,
            stopping_criteria=[telling_criterion(len(rows), max(most), step)],
        )
    finally:
        model.train(was_training)
    return [row[:count] for row, count in zip(made[:, width:].tolist(), most, strict=True)]


def telling_criterion(rows: int, most: int, step: Done) -> Callable[..., Tensor]:
    """A stopping criterion that calls `step` at each of `most` tokens of so many `rows`, and never ends a
    generation."""
    import torch

    tokens = 0

    def criterion(input_ids: Tensor, scores: Tensor, **kwargs: object) -> Tensor:
        nonlocal tokens
        tokens += 1
        step(rows * min(1.0, tokens / most))
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    return criterion


def answer_text(decode: Callable[[list[int]], str], tokens: list[int], stops: list[int]) -> str:
    """The text of an answer's tokens before the first stop token; `decode` is `thinking.decoder`."""
    ends = [tokens.index(stop) for stop in stops if stop in tokens]
    return decode(tokens[: min(ends)] if ends else tokens).strip()
