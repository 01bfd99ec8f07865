"""Graders as the rewards of a training, and whether they tell its answers apart."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trainer.data import thinking, tools
from trainer.grading.grade import check, grade, grade_all
from trainer.grading.score import Sample
from trainer.grading.template import columns_of
from trainer.libraries.trl import answers_to
from trainer.protocol.failures import Failure
from trainer.training.generate import answer_text, shown_text, without_reasoning

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import Trainer

    from trainer.data.job import Job
    from trainer.grading.score import Grader, Score
    from trainer.training.generate import Shown

# The trial before the first step: answers to each row, rows that are answered at once, and at most.
TRIED_ANSWERS = 8
TRIED_ROWS = 4
MOST_TRIED_ROWS = 16
# Scores that are nearer are the same.
SAME = 1e-9
# Most characters of an answer in a message.
SHOWN_CHARACTERS = 60

# Scores of answers to one prompt each: prompts, answers, the tokens of these, and more by name.
Reward = Callable[..., list[float | None]]


def sample_of(text: str, offered: Sequence[str]) -> Sample:
    """An answer as it is graded, with its calls of the tools of these names."""
    calls = [
        {"type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in tools.calls_in(text, offered)
    ]
    return Sample(text, calls)


class Graders:
    """The graders of a job, each with the weight of its scores in the reward."""

    def __init__(self, job: Job) -> None:
        given: list[dict[str, Any]] = job.settings.graders or []
        self._job = job
        self._definitions = [use["grader"] for use in given]
        golden = (one for one in job.settings.golden_prompts or () if isinstance(one, dict))
        tests: list[Any] = [one["grader"] for one in golden if "grader" in one]
        for definition in [*self._definitions, *tests]:
            fault = check(definition)
            if fault is not None:
                raise Failure(
                    "unsupported", f"The grader {definition['name']}: {fault}", "Choose another one."
                )
        self.weights = [float(use.get("weight", 1.0)) for use in given]
        self.names = [str(definition["name"]) for definition in self._definitions]
        self._by_name = dict(zip(self.names, self._definitions, strict=True))
        self._columns = dict(zip(self.names, map(columns_of, self._definitions), strict=True))
        self._decode = thinking.decoder(job.tokenizer, job.template.thinking)
        self._stops = [job.tokenizer.convert_tokens_to_ids(stop) for stop in job.template.stop]
        self._warned: set[str] = set()

    def functions(self) -> list[Reward]:
        """A reward function of the library for each grader, under its name."""
        return [self._function(name, definition) for name, definition in self._by_name.items()]

    def require_columns(self, row: Mapping[str, Any]) -> None:
        """Failure `bad_dataset_row` when a grader names a column that the row does not have."""
        for name, columns in self._columns.items():
            missing = next((column for column in sorted(columns) if column not in row), None)
            if missing is not None:
                raise Failure(
                    "bad_dataset_row",
                    f"the grader {name} names the column {missing}, which the row does not have. Its columns "
                    f"are {', '.join(row)}.",
                    "Add the column, or change the grader.",
                )

    def text(self, tokens: list[int]) -> str:
        """An answer as it is graded: without its reasoning and its end."""
        return without_reasoning(self._job, answer_text(self._decode, tokens, self._stops))

    def scores(self, item: Mapping[str, Any], text: str) -> list[Score]:
        """The score of an answer by each grader; `item` is the row of its prompt."""
        return [grade(definition, item, Sample(text)) for definition in self._definitions]

    def of_answers(self, rows: Sequence[Shown], answers: Sequence[str]) -> list[dict[str, float | None]]:
        """The scores of whole answers to `rows` by name, None where a grader cannot score one."""
        return self._scored(self._by_name, rows, answers)

    def of_sample(self, row: Shown, answer: str) -> dict[str, float | None]:
        """Those of one by the grader of its prompt, if that has its own."""
        graders = self._by_name if row.grader is None else {str(row.grader["name"]): row.grader}
        return self._scored(graders, [row], [answer])[0]

    def _scored(
        self, graders: Mapping[str, Grader], rows: Sequence[Shown], answers: Sequence[str]
    ) -> list[dict[str, float | None]]:
        pairs = [
            (row.item or {}, sample_of(without_reasoning(self._job, answer), row.offered))
            for row, answer in zip(rows, answers, strict=True)
        ]
        graded = grade_all(graders, pairs, self._job.beat_or_stop)
        for name, score in (entry for scores in graded for entry in scores.items()):
            if score.error is not None:
                self._warn(name, score.error)
        return [
            {name: score.value if score.error is None else None for name, score in scores.items()}
            for scores in graded
        ]

    def reward(self, scores: list[Score]) -> float:
        """The weighted sum of those that are no errors."""
        pairs = zip(scores, self.weights, strict=True)
        return sum(weight * score.value for score, weight in pairs if score.error is None)

    def _function(self, name: str, definition: dict[str, Any]) -> Reward:
        def scored(
            completion_ids: list[list[int]],
            item: list[str],
            log_metric: Callable[[str, float], None],
            **_: object,
        ) -> list[float | None]:
            answers = [Sample(self.text(tokens)) for tokens in completion_ids]
            rows = list(zip(map(json.loads, item), answers, strict=True))
            found = [scores[name] for scores in grade_all({name: definition}, rows, self._job.beat_or_stop)]
            errors = [score.error for score in found if score.error is not None]
            if errors:
                log_metric(f"rewards/{name}/errors", len(errors) / len(found))
                self._warn(name, errors[0])
            return [score.value if score.error is None else None for score in found]

        scored.__name__ = name
        return scored

    def _warn(self, name: str, error: str) -> None:
        """Warns of the first error of a grader; the figures tell the share of the others."""
        if name not in self._warned:
            self._warned.add(name)
            self._job.warn("grader_error", f"The grader {name} could not score an answer: {error}")


def graders_of(job: Job) -> Graders | None:
    """The graders of a job, if it has any, also of its prompts."""
    tests = (one for one in job.settings.golden_prompts or () if isinstance(one, dict))
    return Graders(job) if job.settings.graders or any("grader" in one for one in tests) else None


def refuse_equal_rewards(job: Job, trainer: Trainer, prompts: Dataset, graders: Graders) -> None:
    """Failure `no_reward_spread` when the answers to each of some `prompts` have equal rewards among
    themselves: then no answer is better than another. Leaves the random state as it is."""
    from trainer.training.random_state import kept_random_state

    count = min(len(prompts), MOST_TRIED_ROWS)
    taken = random.Random(job.settings.seed).sample(range(len(prompts)), count)
    tried: list[tuple[str, list[tuple[str, float, list[Score]]]]] = []
    for start in range(0, count, TRIED_ROWS):
        job.phase("probe", start / count, f"{TRIED_ANSWERS} answers to each of a few rows are graded")
        rows = prompts.select(taken[start : start + TRIED_ROWS])
        with kept_random_state():
            answers = answers_to(trainer, [text for text in rows["prompt"] for _ in range(TRIED_ANSWERS)])
        for at, row in enumerate(rows):
            item, group = json.loads(row["item"]), []
            for tokens in answers[at * TRIED_ANSWERS : (at + 1) * TRIED_ANSWERS]:
                job.beat_or_stop()
                text = graders.text(tokens)
                scores = graders.scores(item, text)
                group.append((text, graders.reward(scores), scores))
            rewards = [reward for _, reward, _ in group]
            if max(rewards) - min(rewards) > SAME:
                return
            tried.append((shown_text(job.messages(item)[:-1]), group))
    raise _refusal(graders, tried)


def _refusal(graders: Graders, tried: list[tuple[str, list[tuple[str, float, list[Score]]]]]) -> Failure:
    errors = {
        name: score.error
        for _, group in tried
        for _, _, scores in group
        for name, score in zip(graders.names, scores, strict=True)
        if score.error is not None
    }
    shown = [
        f"{prompt!r}: " + ", ".join(f"{text[:SHOWN_CHARACTERS]!r} ({reward:g})" for text, reward, _ in group)
        for prompt, group in tried
    ]
    said = "".join(f" The grader {name} could not score answers: {error}" for name, error in errors.items())
    return Failure(
        "no_reward_spread",
        f"The {TRIED_ANSWERS} answers to each of {len(tried)} rows have equal rewards, so there is nothing "
        f"to learn from. To {shown[0]}.{said}",
        evidence="\n".join(shown),
    )
