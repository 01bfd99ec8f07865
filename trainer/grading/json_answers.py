"""Graders of answers that are JSON: `hone_json_schema` and `hone_json_equal`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trainer.grading.score import Grader, GraderError, Item, Sample, Score, Unfit
from trainer.grading.template import fill
from trainer.grading.texts import shown

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

# Differences that an explanation names.
NAMED = 5


def json_schema(grader: Grader, item: Item, sample: Sample) -> Score:
    """1 if the text is JSON that fits the schema, else 0."""
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    value = _parsed(fill(grader["input"], item, sample))
    try:
        fault = best_match(_validator(json.dumps(grader["schema"])).iter_errors(value))
    except Unresolvable as error:
        raise GraderError(f"The schema refers to what it does not have: {error}.") from error
    if fault is None:
        return Score(1.0, explanation="the JSON fits the schema")
    return Score(0.0, explanation=f"{fault.json_path}: {fault.message}")


@lru_cache(maxsize=64)
def _validator(schema: str) -> Validator:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    parsed = json.loads(schema)
    kind = validator_for(parsed)
    try:
        kind.check_schema(parsed)
    except SchemaError as error:
        raise GraderError(f"The schema is no JSON schema: {error.json_path}: {error.message}.") from error
    # An empty registry: no schema is fetched from an address that it names.
    return kind(parsed, registry=Registry())


def check_schema(schema: object) -> None:
    """GraderError if it is no JSON schema."""
    _validator(json.dumps(schema))


def json_equal(grader: Grader, item: Item, sample: Sample) -> Score:
    """The share of fields that are equal in both, of those that any of both has."""
    told = fill(grader["reference"], item, sample)
    try:
        reference = dict(_leaves(json.loads(told)))
    except (ValueError, RecursionError) as error:
        raise GraderError(f"The reference {shown(told)} is no JSON: {error}.") from error
    answer = dict(_leaves(_parsed(fill(grader["input"], item, sample))))
    paths = list(dict.fromkeys([*reference, *answer]))
    wrong = [path for path in paths if path not in reference or reference[path] != answer.get(path)]
    equal = len(paths) - len(wrong)
    explanation = f"{equal} of {len(paths)} fields are equal"
    if wrong:
        more = f" and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        explanation += f"; different: {', '.join(wrong[:NAMED])}{more}"
    return Score(equal / len(paths), explanation=explanation)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unfit(f"the answer is no JSON: {error}") from error


def _leaves(value: Any, path: str = "$") -> Iterator[tuple[str, tuple[str, Any]]]:
    """Each value that has none within it, by its path. 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{at}]")
    else:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        yield path, ("number", value) if number else (type(value).__name__, str(value))
