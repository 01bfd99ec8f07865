"""Imports for a training in a fresh process: only what it uses, and without collecting garbage meanwhile.

Nearly all of the time until the first step of a small model is spent importing. `bench/LOG.md` tells what
each of these parts costs.
"""

from __future__ import annotations

import gc
import importlib.metadata
import inspect
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer.protocol.contracts import Spec
    from trainer.protocol.model_config import ModelConfig

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
_frame = inspect.getframeinfo


def begin() -> None:
    """Suspends garbage collection: the thousands of modules that follow are all kept. For a process that
    trains once and ends."""
    global _begun
    _begun = True
    gc.disable()
    # torch asks where each of its operators is defined, and Python would look for the lines around it.
    inspect.getframeinfo = partial(_frame, context=0)


def spare(spec: Spec, config: ModelConfig) -> None:
    """Keeps a process that `begin` was called in from importing what a training of one rank by `spec` does
    not use; `config` is that of its model. torch must not be imported yet."""
    if not _begun or "torch" in sys.modules:
        return
    importlib.metadata.packages_distributions = _Distributions
    unused = [*UNUSED]
    if spec.settings.device == "cpu" or not any(map(os.path.exists, GPUS)):
        unused += FOR_GPUS
    if not _quantizes(spec, config):
        unused += FOR_QUANTIZATION
        # bitsandbytes compiles functions when it is imported; without it the modules of LATER are not used.
        sys.meta_path.insert(0, _Deferral())
    for name in unused:
        # Python's way to say that there is no such module.
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    import torch

    # The libraries then import nothing for trainings of several processes.
    torch.distributed.is_available = lambda: False


def end() -> None:
    """Collects garbage from now on, except among what was imported: it is kept anyway."""
    global _begun
    if _begun:
        _begun = False
        importlib.metadata.packages_distributions = _distributions
        inspect.getframeinfo = _frame
        gc.freeze()
        gc.enable()


def _quantizes(spec: Spec, config: ModelConfig) -> bool:
    settings = spec.settings
    return (
        settings.use_4bit
        or settings.use_8bit
        or spec.strategy == "qlora"
        or settings.optim not in OWN_OPTIMIZERS
        or "quantization_config" in config
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
    """Finds the modules of `LATER` as ones that are executed when they are used.

    The libraries import them in order to exempt functions from being compiled, and to know tensors and models
    that are divided among processes, masks that are compiled and sizes that are symbols when they see one.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in LATER:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _Later(spec.loader)
            return spec
        package = next((later for later in LATER if name.startswith(f"{later}.")), "")
        if name not in ALONE and type(module := sys.modules.get(package)) is _Deferred:
            # The parts of the package import each other, which works only if the package comes first.
            module.execute()
            if name in sys.modules:
                return ModuleSpec(name, _There())
        return None


class _Later(Loader):
    """Leaves a module that `loader` would execute to be executed later."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Deferred(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Prepares `module` as if it were executed."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader


class _There(Loader):
    """Loads a module that was imported meanwhile."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


class _Deferred(ModuleType):
    """Has what `LATER` says; executes the real module for everything else."""

    lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        if name in LATER[self.__name__]:
            return LATER[self.__name__][name](self, name)
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


class _Stand:
    """Stands for a class or a function of a deferred module.

    Until that is executed, no object is of the class; every other use executes it. A function whose value for
    plain numbers, truth values and shapes is `known` needs no module for them.
    """

    def __init__(self, module: Any, name: str, known: Callable[..., Any] | None = None) -> None:
        self._module, self._name, self._known = module, name, known

    def _real(self) -> Any:
        if type(self._module) is _Deferred:
            self._module.execute()
        return getattr(self._module, self._name)

    def __instancecheck__(self, instance: object) -> bool:
        return type(self._module) is not _Deferred and isinstance(instance, self._real())

    def __subclasscheck__(self, subclass: type) -> bool:
        return type(self._module) is not _Deferred and issubclass(subclass, self._real())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self._real(),)

    def __or__(self, other: Any) -> Any:
        """An annotation, which nobody reads."""
        return Any

    __ror__ = __or__

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self._known is not None and all(map(_is_plain, args)):
            return self._known(*args)
        return self._real()(*args, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._real(), name)


class _Nothing:
    """Where nothing is compiled, no module is of this class."""

    class OptimizedModule:
        """That of `torch._dynamo.eval_frame`."""


def _as_it_is(function: Callable[..., Any] | None = None, *_: Any, **options: Any) -> Any:
    """A decorator that changes nothing, with or without arguments."""
    return function if function is not None else _as_it_is


def _given(value: Any) -> Callable[[Any, str], Any]:
    """What stands for a name of a deferred module: `value`."""
    return lambda module, name: value


def _known(function: Callable[..., Any]) -> Callable[[Any, str], Any]:
    """What stands for a function of a deferred module that is `function` for plain values."""
    return partial(_Stand, known=function)


def _is_plain(value: Any) -> bool:
    return type(value) in (bool, int) or (isinstance(value, tuple) and all(map(_is_plain, value)))


def _same(value: Any) -> Any:
    return value


# What a truth value is asked for that may depend on symbols.
GUARDS = ("expect_true", "guard_or_false", "guard_or_true", "guard_size_oblivious")

# Modules that are executed when they are used, with what stands for their names before.
LATER: dict[str, dict[str, Callable[[Any, str], Any]]] = {
    COMPILER: {
        **dict.fromkeys(("disable", "allow_in_graph", "assume_constant_result"), _given(_as_it_is)),
        "graph_break": _given(lambda *_: None),
        "eval_frame": _given(_Nothing),
    },
    "torch.distributed.tensor": {"DTensor": _Stand},
    "torch.distributed.fsdp": {"FSDPModule": _Stand},
    "torch.distributed.fsdp.fully_sharded_data_parallel": {"FullyShardedDataParallel": _Stand},
    "torch.nn.attention.flex_attention": {
        **dict.fromkeys(("AuxRequest", "BlockMask", "create_block_mask", "flex_attention"), _Stand),
        "_DEFAULT_SPARSE_BLOCK_SIZE": _given(128),
    },
    # Both are for sizes that are symbols, which only a compiler has.
    "sympy": {"Basic": _Stand},
    "torch.fx.experimental.symbolic_shapes": {
        **dict.fromkeys((*GUARDS, "statically_known_true"), _known(_same)),
        "is_nested_int": _known(lambda value: False),
        "sym_and": _known(lambda *values: all(values)),
        "sym_eq": _known(lambda one, other: one == other),
        "sym_or": _known(lambda *values: any(values)),
        **dict.fromkeys(("free_unbacked_symbols", "guarding_hint_or_throw", "has_guarding_hint"), _Stand),
    },
}
