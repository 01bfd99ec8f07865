"""Graders of what a text has: `hone_number`, `hone_math`, `hone_regex`, `hone_length` and `hone_contains`."""

from __future__ import annotations

import re
import threading
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trainer.grading.score import Grader, GraderError, Item, Sample, Score, Unfit
from trainer.grading.template import fill
from trainer.grading.texts import shown

if TYPE_CHECKING:
    from regex import Pattern

NUMBER = re.compile(
    r"(?:(?<![\w)])[-+−])?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3}(?!\d))?"
)
# What marks LaTeX in a text.
MARKED = re.compile(r"\$|\\boxed|\\[(\[]")
# A search may take this long: some patterns take exponentially long.
SEARCH_SECONDS = 1.0
# So may math-verify, for each of its steps.
MATH_SECONDS = 5


def number(grader: Grader, item: Item, sample: Sample) -> Score:
    """1 if the last number in the text is within the tolerance of the last one in the reference, else 0."""
    told = fill(grader["reference"], item, sample)
    wanted = _last_number(told)
    if wanted is None:
        raise GraderError(f"The reference {shown(told)} has no number.")
    text = fill(grader["input"], item, sample)
    found = _last_number(text)
    if found is None:
        raise Unfit(f"the answer has no number: {shown(text)}")
    relative = Decimal(str(grader["relative_tolerance"])) * abs(wanted)
    allowed = max(Decimal(str(grader["tolerance"])), relative)
    off = abs(found - wanted)
    return Score(
        float(off <= allowed), explanation=f"{found} is {off:g} off {wanted}; {allowed:g} is allowed"
    )


def _last_number(text: str) -> Decimal | None:
    found = NUMBER.findall(text)
    return Decimal(found[-1].replace(",", "").replace("−", "-")) if found else None


def math(grader: Grader, item: Item, sample: Sample) -> Score:
    """1 if the text ends in what is mathematically equal to the reference, else 0."""
    from math_verify import verify

    told, text = fill(grader["reference"], item, sample), fill(grader["input"], item, sample)
    # Without its signs, math-verify looks for the last number alone.
    wanted = _expression(told if MARKED.search(told) else f"${told}$") or _expression(told)
    if not wanted:
        raise GraderError(f"The reference {shown(told)} is no mathematical expression.")
    found = _expression(text)
    if not found:
        raise Unfit(f"the answer has no mathematical expression: {shown(text)}")
    equal = verify(wanted, found, timeout_seconds=_math_seconds())
    return Score(
        float(equal), explanation=f"{found[0]} {'equals' if equal else 'does not equal'} {wanted[0]}"
    )


def _expression(text: str) -> list[Any]:
    from math_verify import parse

    found: list[Any] = parse(text, parsing_timeout=_math_seconds())
    return found


def _math_seconds() -> int | None:
    """Its timeouts are signals, which only the main thread has."""
    return MATH_SECONDS if threading.current_thread() is threading.main_thread() else None


def regular_expression(grader: Grader, item: Item, sample: Sample) -> Score:
    """1 if the pattern is found in the text, else 0."""
    text = fill(grader["input"], item, sample)
    try:
        found = compiled(grader["pattern"]).search(text, timeout=SEARCH_SECONDS)
    except TimeoutError:
        raise GraderError(
            f"The pattern took more than {SEARCH_SECONDS:g} s in {shown(text)}: simplify it."
        ) from None
    explanation = f"{shown(found[0])} matches" if found else f"no match in {shown(text)}"
    return Score(float(found is not None), explanation=explanation)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern[str]:
    """The pattern, ready to search. GraderError if it is no regular expression."""
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise GraderError(f"The pattern {shown(pattern)} is no regular expression: {error}.") from error


def length(grader: Grader, item: Item, sample: Sample) -> Score:
    """1 if the text has from `min` to `max` characters or words, else 0."""
    text, unit = fill(grader["input"], item, sample), grader["unit"]
    count = len(text) if unit == "characters" else len(text.split())
    least, most = grader.get("min"), grader.get("max")
    fits = (least is None or count >= least) and (most is None or count <= most)
    allowed = " and ".join(
        told for told, given in ((f"at least {least}", least), (f"at most {most}", most)) if given is not None
    )
    return Score(float(fits), explanation=f"{count} {unit}; {allowed} are wanted")


def contains(grader: Grader, item: Item, sample: Sample) -> Score:
    """The share of the values that the text contains."""
    text = fill(grader["input"], item, sample)
    values = [fill(value, item, sample) for value in grader["values"]]
    if grader["ignore_case"]:
        missing = [value for value in values if value.casefold() not in text.casefold()]
    else:
        missing = [value for value in values if value not in text]
    told = f"missing: {', '.join(map(shown, missing))}" if missing else "nothing is missing"
    found = len(values) - len(missing)
    return Score(found / len(values), explanation=f"{found} of {len(values)} found; {told}")
