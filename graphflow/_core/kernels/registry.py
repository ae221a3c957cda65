"""Which function computes an op: the plain NumPy kernels, one factory per op type.

A factory gets the instruction once, when a plan is made, and returns the function that runs: attributes are looked
up then and not at each run. The function takes the input arrays (NumPy arrays or scalars) and returns an array, or a
tuple if the op has several outputs. It never writes to its inputs. The compiled tier is compared with these.

The kernel of an op stands in the module that has the name of the op's, or in another one of the same room. So it is
found when a plan first needs it: most programs have no use for queues, tables or forests, whose modules were half of
the time that all took.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from graphflow._core.common.modules import import_all
from graphflow._core.graph.claims import Claims, calling_module
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.op_def import defined_in as defining_module
from graphflow._core.plan.ir import Origin

Kernel: TypeAlias = Callable[..., Any]


class Node(Protocol):
    """The properties of an operation that the factory of its kernel may use."""

    @property
    def name(self) -> str:
        """The operation's name."""

    @property
    def type(self) -> str:
        """The op type."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes."""

    @property
    def device(self) -> str:
        """The full name of the device that it runs on."""

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The dtype of each output."""

    @property
    def origin(self) -> Origin | None:
        """The operation that it stands for, for messages; None if it stands for none."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the values that it takes, such as "queue:0"."""

    @property
    def used(self) -> tuple[bool, ...]:
        """Whether anything takes each output."""


Factory: TypeAlias = Callable[[Node], Kernel]

_FACTORIES: Final[dict[str, Factory]] = {}
_STATEFUL: Final[set[str]] = set()
_VIEWS: Final[set[str]] = set()
_COSTS: Final[dict[str, tuple[float, float]]] = {}
"""Nanoseconds of an element and of a call, by op type."""
_CLAIMS: Final = Claims("The kernel for")
_PACKAGE: Final = __name__.rpartition(".")[0]
_OPS: Final = f"{_PACKAGE.rpartition('.')[0]}.ops"
_LOADED: Final[set[str]] = set()
"""The modules and packages that were looked through whole."""


def kernel(*op_types: str, stateful: bool = False, view: bool = False) -> Callable[[Factory], Factory]:
    """Registers a factory(node) -> function for op types.

    A stateful kernel's function gets the run (RunContext) as its first argument. `view` says that the result may share
    memory with an input.
    """

    def register(factory: Factory) -> Factory:
        add_kernel(op_types, factory, stateful, view, calling_module(1))
        return factory

    return register


def simple(op_type: str, function: Kernel, view: bool = False) -> None:
    """Registers a function of the input arrays alone."""
    add_kernel((op_type,), lambda node: function, False, view, calling_module(1))


def add_kernel(
    op_types: Sequence[str], factory: Factory, stateful: bool, view: bool, module: dict[str, Any]
) -> None:
    """Registers a factory as that of op types, defined by the module with these globals.

    ValueError if there is one already.
    """
    for op_type in op_types:
        _CLAIMS.claim(op_type, module)
        _FACTORIES[op_type] = factory
        if stateful:
            _STATEFUL.add(op_type)
        if view:
            _VIEWS.add(op_type)


def takes(nanoseconds: float, *op_types: str, call: float = 0.0) -> None:
    """Says that kernels take much longer than a pass over memory, and than one call of NumPy.

    It tells how soon compiled code is worth waiting for.

    Args:
        nanoseconds: About how long, for each element of the largest result.
        op_types: Whose kernels.
        call: Nanoseconds of a call beside that.
    """
    _COSTS.update(dict.fromkeys(op_types, (nanoseconds, call)))


def load() -> None:
    """Imports all modules that register NumPy kernels, once."""
    if _PACKAGE not in _LOADED:
        _load(_PACKAGE)


def factory(op_type: str) -> Factory | None:
    """The factory for an op type, or None if the CPU has no kernel for it."""
    if op_type not in _FACTORIES:
        _look_for(op_type)
    return _FACTORIES.get(op_type)


def defined_in(op_type: str) -> str:
    """The name of the module that defines an op type's kernel; KeyError if there is none."""
    factory(op_type)
    return _CLAIMS.owner(op_type)


def is_stateful(op_type: str) -> bool:
    """Whether the kernel gets the run as its first argument."""
    return factory(op_type) is not None and op_type in _STATEFUL


def may_view(op_type: str) -> bool:
    """Whether a result may share memory with an input."""
    return factory(op_type) is not None and op_type in _VIEWS


def nanoseconds(op_type: str, elements: int) -> float:
    """About how long a kernel that was in use takes for its largest result, besides passes over memory and a call.

    Nothing is imported for that: 0 if no plan has needed the kernel yet.
    """
    each, call = _COSTS.get(op_type, (0.0, 0.0))
    return each * elements + call


def op_types() -> frozenset[str]:
    """All op types that have a kernel."""
    load()
    return frozenset(_FACTORIES)


def _look_for(op_type: str) -> None:
    """Imports the module that registers an op's kernel: that of its name, or else the room that it is in."""
    try:
        package, _, module = defining_module(op_type).partition(f"{_OPS}.")
    except KeyError:
        return
    if package or not module:
        return  # An extension, which registers its kernels itself.
    for name in (f"{_PACKAGE}.{module}", f"{_PACKAGE}.{module.partition('.')[0]}"):
        if name not in _LOADED:
            _load(name)
        if op_type in _FACTORIES:
            return


def _load(name: str) -> None:
    """Imports a module if there is one, and all that is in it if it is a package."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
    else:
        if hasattr(module, "__path__"):
            import_all(name, module.__path__)
    _LOADED.add(name)
