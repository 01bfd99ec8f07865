"""Finds tasks, strategies and providers: every module of their folders has one class with a `name`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, overload

from trainer.protocol.failures import Failure

if TYPE_CHECKING:
    from trainer.data.job import Provider, Strategy, Task

Kind = Literal["task", "strategy", "provider"]

FOLDERS = {"task": "tasks", "strategy": "strategies", "provider": "providers"}


@overload
def find_all(kind: Literal["task"]) -> dict[str, type[Task]]: ...
@overload
def find_all(kind: Literal["strategy"]) -> dict[str, type[Strategy]]: ...
@overload
def find_all(kind: Literal["provider"]) -> dict[str, type[Provider]]: ...
def find_all(kind: Kind) -> Mapping[str, type]:
    """Every class of `kind` (`task`, `strategy`, `provider`) by its wire name, without importing torch."""
    package = importlib.import_module(f"trainer.{FOLDERS[kind]}")
    found: dict[str, type] = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__ and hasattr(member, "name"):
                found[member.name] = member
    return dict(sorted(found.items(), key=lambda entry: getattr(entry[1], "order", 99)))


@overload
def create(kind: Literal["task"], name: str) -> Task: ...
@overload
def create(kind: Literal["strategy"], name: str) -> Strategy: ...
@overload
def create(kind: Literal["provider"], name: str) -> Provider: ...
def create(kind: Kind, name: str) -> object:
    """An instance of the `kind` called `name`; Failure `unsupported` lists the known names."""
    known = find_all(kind)
    if name not in known:
        raise Failure(
            "unsupported", f"There is no {kind} called {name}.", f"Choose one of: {', '.join(known)}."
        )
    return known[name]()
