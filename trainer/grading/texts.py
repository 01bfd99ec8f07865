"""Graders that compare two texts: `string_check` and `text_similarity`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from trainer.grading.score import Grader, Item, Sample, Score
from trainer.grading.template import fill

# Of characters of a text in an explanation.
SHOWN = 200


def shown(text: str) -> str:
    """A text as an explanation quotes it."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


CHECKS: dict[str, tuple[Callable[[str, str], bool], str, str]] = {
    "eq": (lambda text, reference: text == reference, "equals", "differs from"),
    "ne": (lambda text, reference: text != reference, "differs from", "equals"),
    "like": (lambda text, reference: reference in text, "contains", "does not contain"),
    "ilike": (
        lambda text, reference: reference.casefold() in text.casefold(),
        "contains (in any case)",
        "does not contain (in any case)",
    ),
}


def string_check(grader: Grader, item: Item, sample: Sample) -> Score:
    """1 if the texts stand in the relation, else 0."""
    text, reference = fill(grader["input"], item, sample), fill(grader["reference"], item, sample)
    holds, yes, no = CHECKS[grader["operation"]]
    passed = holds(text, reference)
    return Score(float(passed), explanation=f"{shown(text)} {yes if passed else no} {shown(reference)}")


def text_similarity(grader: Grader, item: Item, sample: Sample) -> Score:
    """How alike the texts are, from 0 to 1."""
    text, reference = fill(grader["input"], item, sample), fill(grader["reference"], item, sample)
    metric = grader["evaluation_metric"]
    value = similarity(metric, text, reference)
    told = f"{metric} of {shown(text)} and {shown(reference)}"
    threshold = grader.get("pass_threshold")
    if threshold is not None:
        told += f"; {'passes' if value >= threshold else 'does not pass'} {threshold:g}"
    return Score(value, explanation=told)


def similarity(metric: str, text: str, reference: str) -> float:
    """The figure `metric`, as `docs/graders.md` defines it."""
    if metric == "fuzzy_match":
        from rapidfuzz import fuzz

        return fuzz.ratio(text, reference) / 100
    one, other = _words(text), _words(reference)
    if not one or not other:
        return float(one == other)
    if metric == "cosine":
        return _cosine(Counter(one), Counter(other))
    if metric == "rouge_l":
        from rapidfuzz.distance import LCSseq

        return _f1(LCSseq.similarity(one, other), len(one), len(other))
    if metric.startswith("rouge_"):
        return _rouge(int(metric.removeprefix("rouge_")), one, other)
    return _translation(metric, one, other)


def _words(text: str) -> list[str]:
    """Words and signs in lower case."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    product = sum(count * other[word] for word, count in one.items())
    squares = [sum(count * count for count in counts.values()) for counts in (one, other)]
    return min(1.0, product / (squares[0] * squares[1]) ** 0.5)


def _rouge(length: int, one: Sequence[str], other: Sequence[str]) -> float:
    grams = [
        Counter(tuple(words[at : at + length]) for at in range(len(words) - length + 1))
        for words in (one, other)
    ]
    return _f1((grams[0] & grams[1]).total(), grams[0].total(), grams[1].total())


def _f1(common: float, one: int, other: int) -> float:
    return 2 * common / (one + other) if common else 0.0


class NoSynonyms:
    """Stands for WordNet in METEOR: it is not part of the package, and would be downloaded."""

    def synsets(self, word: str) -> list[object]:
        return []


def _translation(metric: str, one: list[str], other: list[str]) -> float:
    from nltk.translate import bleu_score, gleu_score, meteor_score

    if metric == "bleu":
        # Texts shorter than four words have no 4-grams: the weights of the shorter ones are used.
        longest = min(4, len(one), len(other))
        return float(
            bleu_score.sentence_bleu(
                [other],
                one,
                weights=(1 / longest,) * longest,
                smoothing_function=bleu_score.SmoothingFunction().method3,
            )
        )
    if metric == "gleu":
        return float(gleu_score.sentence_gleu([other], one))
    return float(meteor_score.single_meteor_score(other, one, wordnet=NoSynonyms()))
