"""Templates of graders: `{{item.…}}` and `{{sample.…}}` in their texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from trainer.grading.score import GraderError, Item, Sample, Unfit

VARIABLE = re.compile(r"\{\{\s*(.*?)\s*\}\}", re.DOTALL)
# A name after a dot, or a number or a quoted name in brackets.
STEP = re.compile(r"""\.([^.\[\]\s]+)|\[(-?\d+)\]|\[(?:"([^"]*)"|'([^']*)')\]""")


class VariableError(GraderError):
    """A variable that cannot be read, or a column that is not there."""

    kind = "invalid_variable_error"


@lru_cache(maxsize=4096)
def _pieces(template: str) -> tuple[str | tuple[str, ...], ...]:
    """Texts, and the paths of the variables between them."""
    pieces = VARIABLE.split(template)
    return tuple(_path(piece) if odd % 2 else piece for odd, piece in enumerate(pieces) if odd % 2 or piece)


def _path(variable: str) -> tuple[str, ...]:
    namespace = re.match(r"[a-z]+", variable)
    rest = variable[namespace.end() :] if namespace else ""
    steps = STEP.findall(rest)
    if namespace is None or namespace[0] not in ("item", "sample") or not steps or STEP.sub("", rest):
        raise VariableError(
            f"{{{{{variable}}}}} is no variable: write {{{{item.COLUMN}}}} or {{{{sample.output_text}}}}."
        )
    return (namespace[0], *("".join(step) for step in steps))


def fill(template: str, item: Item, sample: Sample) -> str:
    """The template with its variables replaced. VariableError if a column is missing, Unfit if the answer has
    no such part."""
    pieces = _pieces(template)
    return "".join(
        piece if isinstance(piece, str) else as_text(_value(piece, item, sample)) for piece in pieces
    )


def columns_of(grader: Any) -> set[str]:
    """The columns that the texts anywhere in a grader name (`columnsOf` in `src/contract/graders`)."""
    if isinstance(grader, str):
        paths = [piece for piece in _pieces(grader) if not isinstance(piece, str)]
        return {path[1] for path in paths if path[0] == "item"}
    if isinstance(grader, Mapping):
        # The source of Python and a schema are no templates.
        return columns_of([part for name, part in grader.items() if name not in ("source", "schema")])
    return set().union(*map(columns_of, grader)) if isinstance(grader, list) else set()


def as_text(value: Any) -> str:
    """A value as it stands in a text: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _value(path: tuple[str, ...], item: Item, sample: Sample) -> Any:
    namespace, name, *steps = path
    if namespace == "item":
        try:
            return _walk(item, [name, *steps])
        except LookupError:
            raise VariableError(
                f"The row has no {_told(path)}. Its columns are {', '.join(item) or 'none'}."
            ) from None
    if name == "output_text" and not steps:
        return sample.output_text
    if name == "output_json":
        found = sample.output_json
    elif name == "output_tools":
        found = sample.output_tools
    elif name == "choices":
        found = sample.namespace()["choices"]
    else:
        raise VariableError(
            f"There is no {_told(path)}: a sample has output_text, output_json, output_tools and choices."
        )
    try:
        return _walk(found, steps)
    except LookupError:
        raise Unfit(f"the answer has no {_told(path)}") from None


def _walk(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if isinstance(value, Mapping):
            value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", step):
            value = value[int(step)]
        else:
            raise LookupError(step)
    return value


def _told(path: tuple[str, ...]) -> str:
    return "".join(f"[{step}]" if re.fullmatch(r"-?\d+", step) else f".{step}" for step in path)[1:]
