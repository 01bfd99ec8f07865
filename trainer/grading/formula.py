"""Formulas of `multi` graders (`calculate_output`): `+ - * / ^`, parentheses, and the functions below."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import lru_cache

from trainer.grading.score import GraderError


class FormulaError(GraderError):
    """A formula that cannot be read, or has no value."""

    kind = "formula_parse_error"


FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "log": math.log,
}
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}


@lru_cache(maxsize=256)
def _parsed(formula: str) -> ast.expr:
    try:
        # `^` is a power here; Python's own has another sign.
        return ast.parse(formula.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise FormulaError(f"The formula {formula!r} cannot be read: {reason}.") from error


def compute(formula: str, values: Mapping[str, float]) -> float:
    """The value of the formula. FormulaError if it has none, such as for a division by zero."""
    try:
        return float(_value(_parsed(formula), values))
    except RecursionError:
        raise _too_long(formula) from None
    except (ArithmeticError, ValueError) as error:
        told = ", ".join(f"{name} = {value:g}" for name, value in values.items())
        raise FormulaError(f"The formula {formula!r} has no value with {told}: {error}.") from error


def check(formula: str, names: Collection[str]) -> None:
    """FormulaError if the formula is not written in these operators and functions and the `names`."""
    # Different values, so that differences are not 0.
    values = {name: 0.37 + 0.1 * at for at, name in enumerate(names)}
    node = _parsed(formula)
    try:
        with suppress(ArithmeticError, ValueError):
            _value(node, values)
    except RecursionError:
        raise _too_long(formula) from None


def _too_long(formula: str) -> GraderError:
    return GraderError(f"The formula {formula[:60]!r}… has too many parts.")


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name):
            known = ", ".join(values) or "none"
            raise FormulaError(f"The formula names {name}, which is no grader of it: they are {known}.")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            given = [_value(argument, values) for argument in args]
            if not given or (len(given) > 1 and name not in ("min", "max")):
                raise FormulaError(f"{name} does not take {len(given)} values in a formula.")
            # min and max of a single number are that number.
            return FUNCTIONS[name](*given) if len(given) > 1 or name not in ("min", "max") else given[0]
    raise FormulaError(
        f"{ast.unparse(node)!r} is not allowed in a formula: use numbers, the graders' names, + - * / ^ "
        f"and {', '.join(FUNCTIONS)}."
    )
