"""The figures of an evaluation, and those of each of its rows."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.data import pairs, preferences, rows, tools
from trainer.data.encode import IGNORED
from trainer.data.lengths import choose_length
from trainer.data.sequences import encoded_rows
from trainer.evaluating.graded import grade_answers
from trainer.evaluating.likelihood import NONE, Likelihood, likelihoods
from trainer.evaluating.row_result import RowResult
from trainer.families import extractive, seq2seq
from trainer.tasks.extractive_question_answering import ExtractiveQuestionAnswering
from trainer.tasks.summarization import Summarization
from trainer.training import generate
from trainer.training.answer_budget import longest_answer

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel

    from trainer.data.job import Job
    from trainer.evaluating.order import Order
    from trainer.protocol.row import Row

# The share of the progress of likelihoods, where answers are generated, too.
LIKELIHOOD_SHARE = 0.2
# Most characters of a text in the result of a row.
SHOWN_CHARACTERS = 4_000
# Prompts that are answered between two reports.
ANSWERED = 4 * generate.BATCH


@dataclass(frozen=True)
class Scores:
    """The figures of all rows, and the results of the first of them."""

    figures: dict[str, float]
    rows: list[RowResult]


def score_rows(job: Job, model: PreTrainedModel, order: Order, progress: Callable[[float], None]) -> Scores:
    """Scores the job's rows with `model`. `progress` is called with the share (0…1) that is done, and may
    raise."""
    found = dict(rows.read_rows(job.spec.dataset.path, job.fields))
    results = {number: _result(job, number, row) for number, row in found.items()}
    if job.shape == "preference":
        figures = _score_preferences(job, model, results, progress)
    elif job.shape == "unpaired-preference":
        figures = _score_unpaired(job, model, results, progress)
    else:
        answers = job.shape != "text"
        share = LIKELIHOOD_SHARE if answers else 1.0
        figures, length = {}, _length(job)
        if job.family != "extractive" and job.shape != "prompt":
            figures, length = _score_likelihood(job, model, results, lambda done: progress(done * share))
        if answers:
            start = share if figures else 0.0
            figures |= _score_answers(
                job, model, results, length, order, lambda done: progress(start + done * (1 - start))
            )
    kept = list(results.values())[: order.kept_rows]
    for result in kept:
        for name in ("prompt", "reference", "rejected", "answer"):
            text = getattr(result, name)
            setattr(result, name, text and text[:SHOWN_CHARACTERS])
        # JSON has no others.
        result.figures = {name: value for name, value in result.figures.items() if math.isfinite(value)}
    return Scores(figures, kept)


def _result(job: Job, number: int, row: Row) -> RowResult:
    if job.shape == "text":
        return RowResult(number, row["text"], None)
    messages = job.messages(row)
    if job.shape == "prompt":
        return RowResult(number, generate.shown_text(messages[:-1]), None)
    rejected = None
    if job.shape == "preference":
        rejected = generate.reference_of(job, pairs.messages(job.template, row, "rejected"))
    prompt = generate.shown_text(messages[:-1])
    reference = generate.reference_of(job, messages)
    if job.shape == "unpaired-preference" and not row["label"]:
        return RowResult(number, prompt, None, reference)
    return RowResult(number, prompt, reference, rejected)


def _length(job: Job) -> int | None:
    """The tokens of a window, for models that answer with a span."""
    return choose_length(job, extractive.token_counts(job)) if job.family == "extractive" else None


def _score_likelihood(
    job: Job, model: PreTrainedModel, results: dict[int, RowResult], progress: Callable[[float], None]
) -> tuple[dict[str, float], int]:
    writes = job.family == "seq2seq"
    dataset, length = seq2seq.encoded_rows(job) if writes else encoded_rows(job)
    sequences = list(zip(dataset["input_ids"], dataset["labels"], strict=True))
    found = likelihoods(
        model, sequences, writes=writes, pad=job.tokenizer.pad_token_id or 0, progress=progress
    )
    of_rows: dict[int, Likelihood] = {}
    for number, one in zip(dataset["row"], found, strict=True):
        of_rows[number] = of_rows.get(number, NONE) + one
    for number, one in of_rows.items():
        if one.loss is not None:
            results[number].figures["loss"] = one.loss
    return _loss_figures(found), length


def _loss_figures(found: list[Likelihood]) -> dict[str, float]:
    """The loss of all tokens alike, and its perplexity."""
    loss = sum(found, NONE).loss
    return {} if loss is None else {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}


def _score_answers(
    job: Job,
    model: PreTrainedModel,
    results: dict[int, RowResult],
    length: int | None,
    order: Order,
    progress: Callable[[float], None],
) -> dict[str, float]:
    """Generates an answer to each row as a training's evaluations do, and compares it with the reference if
    there is one."""
    found = rows.read_rows(job.spec.dataset.path, job.fields)
    conversations = [job.messages(row) for _, row in found]
    prompts = [messages[:-1] for messages in conversations]
    every = list(results.values())
    compared = job.shape != "prompt"
    written = generate.written_answers(job, conversations) if compared else []
    most = longest_answer(
        job.tokenizer, written, generate.MAX_NEW_TOKENS if compared else job.settings.max_answer_tokens
    )
    if job.family == "causal":
        _tell_cut_prompts(job, prompts, every)
    for start in range(0, len(every), ANSWERED):
        part = prompts[start : start + ANSWERED]
        if job.family == "causal":
            given = generate.generate_answers(job, model, part, most)
            answers = [generate.without_reasoning(job, answer) for answer in given]
        else:
            assert length is not None
            texts = [prompt[-1]["content"] for prompt in part]
            answers = (
                seq2seq.generate_answers(job, model, texts, length, most)
                if job.family == "seq2seq"
                else extractive.find_answers(job, model, texts, length)
            )
        for result, text in zip(every[start:], answers, strict=False):
            result.answer = text
        progress(min(1.0, (start + len(part)) / len(every)))
    offered = [tools.names_of(prompt) for prompt in prompts]
    figures = {}
    if compared:
        figures = answer_figures(every, offered)
        for result, names in zip(every[: order.kept_rows], offered, strict=False):
            result.figures |= answer_figures([result], [names])
    return figures | grade_answers(job, order.graders, every, offered)


def _tell_cut_prompts(job: Job, prompts: Sequence[generate.Prompt], results: list[RowResult]) -> None:
    """Warns of prompts that leave no room for an answer."""
    room = job.template.context_length
    cut = [
        result.line
        for prompt, result in zip(prompts, results, strict=True)
        if room is not None and len(generate.prompt_ids(job, prompt)) >= room
    ]
    if cut:
        job.warn(
            "prompts_truncated",
            f"{len(cut):,} of {len(prompts):,} prompts leave no room for an answer in the model's context of "
            f"{room:,} tokens and are asked truncated (the first is in line {cut[0]}).",
        )


def answer_figures(results: list[RowResult], offered: Sequence[Sequence[str]]) -> dict[str, float]:
    """Exact match and F1 in percent, and ROUGE from 0 to 1, as the tasks define them; where prompts offer
    tools (their names in `offered`), the right calls in percent."""
    answers = [result.answer or "" for result in results]
    references = [result.reference or "" for result in results]
    return {
        **ExtractiveQuestionAnswering().score(answers, references),
        **Summarization().score(answers, references),
        **tools.figures(answers, references, offered),
    }


def _score_preferences(
    job: Job, model: PreTrainedModel, results: dict[int, RowResult], progress: Callable[[float], None]
) -> dict[str, float]:
    """How often the chosen answer is more likely than the rejected one: as a whole, and per token, because
    short answers are likelier. Equal ones count half."""
    dataset, _ = preferences.encoded_pairs(job)
    both = _sequences(dataset, "chosen_ids") + _sequences(dataset, "rejected_ids")
    found = likelihoods(model, both, writes=False, pad=job.tokenizer.pad_token_id, progress=progress)
    chosen, rejected = found[: len(dataset)], found[len(dataset) :]
    for number, better, worse in zip(dataset["row"], chosen, rejected, strict=True):
        assert better.loss is not None
        results[number].figures |= {
            "loss": better.loss,
            "chosen_log_likelihood": -better.nats,
            "rejected_log_likelihood": -worse.nats,
            "win": _wins(-better.nats, -worse.nats),
        }
    pairs_found = list(zip(chosen, rejected, strict=True))
    whole = [_wins(-better.nats, -worse.nats) for better, worse in pairs_found]
    losses = [(better.loss, worse.loss) for better, worse in pairs_found]
    per_token = [_wins(-one, -other) for one, other in losses if one is not None and other is not None]
    return {
        **_loss_figures(chosen),
        "win_rate": 100 * sum(whole) / len(whole),
        "win_rate_per_token": 100 * sum(per_token) / len(per_token),
    }


def _score_unpaired(
    job: Job, model: PreTrainedModel, results: dict[int, RowResult], progress: Callable[[float], None]
) -> dict[str, float]:
    """The loss of right answers, and how often one of them is more likely per token than a wrong one, of all
    pairs of these. Equal ones count half."""
    dataset, _ = preferences.encoded_pairs(job)
    sequences = _sequences(dataset, "completion_ids")
    found = likelihoods(model, sequences, writes=False, pad=job.tokenizer.pad_token_id, progress=progress)
    sides: tuple[list[Likelihood], list[Likelihood]] = ([], [])
    for number, label, one in zip(dataset["row"], dataset["label"], found, strict=True):
        sides[label].append(one)
        if one.loss is not None:
            results[number].figures["loss"] = one.loss
    wrong, right = (sorted(one.loss for one in side if one.loss is not None) for side in sides)
    figures = _loss_figures(sides[1])
    if wrong and right:
        wins = sum(len(wrong) - (bisect_left(wrong, one) + bisect_right(wrong, one)) / 2 for one in right)
        figures["win_rate_per_token"] = 100 * wins / (len(wrong) * len(right))
    return figures


def _sequences(dataset: Dataset, answer: str) -> list[tuple[list[int], list[int]]]:
    """The tokens of each prompt with an answer, and its labels."""
    return [
        ([*prompt, *ids], [IGNORED] * len(prompt) + ids)
        for prompt, ids in zip(dataset["prompt_ids"], dataset[answer], strict=True)
    ]


def _wins(one: float, other: float) -> float:
    return 1.0 if one > other else 0.5 if one == other else 0.0
