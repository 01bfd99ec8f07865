"""A client of Hone's service: trains, follows, asks and compares models, in programs and notebooks.

>>> import hone
>>> run = hone.train([{"input": "2 + 2", "output": "4"}, ...], "Qwen/Qwen3-0.6B").follow()
>>> run.model.ask("3 + 3")
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from hone.client import Hone
from hone.errors import HoneError, Refused, Unreachable
from hone.evaluation import Evaluation
from hone.model import Model
from hone.run import Run, RunFailed

__all__ = [
    "Evaluation",
    "Hone",
    "HoneError",
    "Model",
    "Refused",
    "Run",
    "RunFailed",
    "Unreachable",
    "connect",
    "estimate",
    "evaluate",
    "make_rows",
    "model",
    "models",
    "run",
    "runs",
    "train",
    "upload",
]

_client: Hone | None = None


def connect(url: str | None = None, key: str | None = None) -> Hone:
    """Chooses the service that the functions of this module ask; see `Hone`."""
    global _client
    _client = Hone(url, key)
    return _client


def _connected() -> Hone:
    return _client if _client is not None else connect()


P = ParamSpec("P")
T = TypeVar("T")


def _asking(method: Callable[Concatenate[Hone, P], T]) -> Callable[P, T]:
    """A method of `Hone` as a function, which asks the service of `connect`."""

    @wraps(method)
    def ask(*args: P.args, **options: P.kwargs) -> T:
        return method(_connected(), *args, **options)

    return ask


train = _asking(Hone.train)
estimate = _asking(Hone.estimate)
evaluate = _asking(Hone.evaluate)
make_rows = _asking(Hone.make_rows)
upload = _asking(Hone.upload)
run = _asking(Hone.run)
runs = _asking(Hone.runs)
model = _asking(Hone.model)
models = _asking(Hone.models)
