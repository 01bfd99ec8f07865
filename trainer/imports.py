"""Imports for a training in a fresh process: only what it uses, and without collecting garbage meanwhile.

Nearly all of the time until the first step of a small model is spent importing. `bench/README.md` tells what
each of these parts costs.
"""

from __future__ import annotations

import gc
import importlib.metadata
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer.training.job import Job

# Optimizers of torch and transformers; the others may be those of bitsandbytes.
OWN_OPTIMIZERS = ("adamw_torch", "adamw_torch_fused", "adafactor", "sgd", "adagrad", "rmsprop")

# Devices of NVIDIA's and AMD's drivers, and of Windows' in WSL 2.
GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")

# What libraries import where it can be found: for files of the web, and to print tables.
UNUSED = ("aiohttp", "rich")
FOR_GPUS = ("cuda", "triton")
FOR_QUANTIZATION = ("bitsandbytes",)

COMPILER = "torch._dynamo"
# A part of it that needs no other, and that transformers imports.
ALONE = (f"{COMPILER}._trace_wrapped_higher_order_op",)

_begun = False
_distributions = importlib.metadata.packages_distributions


def begin() -> None:
    """Suspends garbage collection: the thousands of modules that follow are all kept. For a process that
    trains once and ends."""
    global _begun
    _begun = True
    gc.disable()


def spare(job: Job) -> None:
    """Keeps a process that `begin` was called in from importing what `job` does not use. The configuration of
    its model must be known, and torch not be imported yet."""
    if not _begun or "torch" in sys.modules or job.provider.own_kernels or job.rank.meets:
        return
    importlib.metadata.packages_distributions = _Distributions
    unused = [*UNUSED]
    if job.settings.device == "cpu" or not any(map(os.path.exists, GPUS)):
        unused += FOR_GPUS
    if not _quantizes(job):
        unused += FOR_QUANTIZATION
        # bitsandbytes compiles functions when it is imported; without it nothing is compiled.
        sys.meta_path.insert(0, _Deferral())
    for name in unused:
        # Python's way to say that there is no such module.
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def end() -> None:
    """Collects garbage from now on, except among what was imported: it is kept anyway."""
    global _begun
    if _begun:
        _begun = False
        importlib.metadata.packages_distributions = _distributions
        gc.freeze()
        gc.enable()


def _quantizes(job: Job) -> bool:
    settings = job.settings
    return (
        settings.use_4bit
        or settings.use_8bit
        or job.spec.strategy == "qlora"
        or settings.optim not in OWN_OPTIMIZERS
        or "quantization_config" in job.config
        or settings.reward_model is not None
    )


class _Distributions(dict[str, list[str]]):
    """Which installed packages have a module, for libraries that ask for the versions of some.

    Python reads the files of every installed package for that; here only where none has the module's name.
    """

    def __missing__(self, module: str) -> list[str]:
        name = module.replace("_", "-")
        try:
            found = [importlib.metadata.metadata(name)["Name"]]
        except importlib.metadata.PackageNotFoundError:
            return self._all()[module]
        self[module] = found
        return found

    def get(self, module: str, otherwise: Any = None) -> Any:
        try:
            return self[module]
        except KeyError:
            return otherwise

    @staticmethod
    @cache
    def _all() -> Mapping[str, list[str]]:
        return _distributions()


class _Deferral:
    """Finds the module of torch's compiler as one that is executed when it is used.

    transformers and torch import it in order to exempt functions from being compiled.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package = sys.modules.get(COMPILER)
        if name == COMPILER:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _Later(spec.loader)
            return spec
        if name.startswith(f"{COMPILER}.") and name not in ALONE and type(package) is _Deferred:
            # The parts of the package import each other, which works only if the package comes first.
            package.execute()
            if name in sys.modules:
                return ModuleSpec(name, _There())
        return None


class _Later:
    """Leaves a module that `loader` would execute to be executed later."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Deferred(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Prepares `module` as if it were executed."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader


class _There:
    """Loads a module that was imported meanwhile."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


class _Nothing:
    """Where nothing is compiled, no module is of this class."""

    class OptimizedModule:
        """That of `torch._dynamo.eval_frame`."""


def _as_it_is(function: Callable[..., Any] | None = None, *_: Any, **options: Any) -> Any:
    """A decorator that changes nothing, with or without arguments."""
    return function if function is not None else _as_it_is


class _Deferred(ModuleType):
    """Has what is used without compiling anything; executes the real module for everything else."""

    lock = threading.RLock()

    disable = allow_in_graph = assume_constant_result = staticmethod(_as_it_is)
    graph_break = staticmethod(lambda *_: None)
    eval_frame = _Nothing

    def __getattr__(self, name: str) -> Any:
        # `inspect` asks every module for such names; a module without them does not need to be executed.
        if name.startswith("__"):
            raise AttributeError(name)
        self.execute()
        return getattr(self, name)

    def execute(self) -> None:
        """Becomes the real module."""
        with _Deferred.lock:
            if type(self) is _Deferred:
                self.__class__ = ModuleType  # type: ignore[assignment]
                assert self.__spec__ is not None and self.__spec__.loader is not None
                self.__spec__.loader.exec_module(self)
