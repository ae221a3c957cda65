"""Tape: what those instructions gave in a run that cannot be repeated, so that another run gets the same.

An element that is taken from a queue is gone, a random state has moved on, a function of the user's may do anything.
Such instructions are not run again: each gives what it gave, in the order in which it was called. Whatever depends on
its inputs alone, changes variables, or keeps what it has to itself and to the run, is run again in earnest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction
from graphflow._core.plan.passes.repeated import KEEP_ACCOUNT
from graphflow._core.resources.variables import VariableCell

_REPEATABLE: Final = frozenset(
    {"Assert", "AssertBroadcastable", "CheckNumerics", "IsVariableInitialized", "NoOp", "Placeholder"}
)
"""Stateful types that look without changing anything."""
_OF_THE_RUN: Final = ("TensorArray", "Stack")
"""How the types begin whose state belongs to one run."""
_USERS: Final = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


def is_repeatable(i: Instruction) -> bool:
    """Whether an instruction may be run twice, the second time on variables of its own."""
    if i.type in _USERS:
        return False
    if i.bodies or i.is_variable or i.type in _REPEATABLE or i.type.startswith(_OF_THE_RUN):
        return True
    if i.definition is None:
        return i.type not in ("Send", "Recv")
    return not i.definition.stateful or (bool(i.written()) and i.type not in KEEP_ACCOUNT)


def written_cells(i: Instruction) -> Callable[[tuple[Any, ...]], list[tuple[str, VariableCell]]]:
    """Finds the variables that an instruction writes, by the names of their values, among the arguments of its kernel.

    The kernel may be given a run first. None are found of a loop or a branch.
    """
    specs = () if i.definition is None else i.definition.inputs
    positions = [
        (name, k - len(i.inputs))
        for k, (name, spec) in enumerate(zip(i.inputs, specs, strict=False))
        if spec.written
    ]
    return lambda arguments: [(name, arguments[k]) for name, k in positions]


@dataclass
class Tape:
    """What instructions gave that are not run again, by their names, in the order of their calls.

    Of each call the result, and then what the variables held after it that it has written.

    room: the bytes that may still be kept. full: whether there was more, so that not all is here.
    """

    room: int
    full: bool = False
    results: dict[str, list[Any]] = field(default_factory=dict)

    def recording(self, kernels: KernelTable) -> KernelTable:
        """Kernels that leave what they give here."""

        def make(i: Instruction) -> Callable[..., Any]:
            kernel = kernels.make(i)
            if is_repeatable(i):
                return kernel
            kept = self.results.setdefault(i.name, [])
            cells = written_cells(i)

            def recorded(*arguments: Any) -> Any:
                result = kernel(*arguments)
                if not self.full:
                    writes = [cell.value for _, cell in cells(arguments)]
                    kept.append(tuple([self._copied(value) for value in (result, *writes)]))
                return result

            return recorded

        return replace(kernels, make=make)

    def replaying(self, kernels: KernelTable) -> KernelTable:
        """Kernels that give again what is here, from its beginning."""
        recorded: dict[str, Iterator[Any]] = {}

        def make(i: Instruction) -> Callable[..., Any]:
            if is_repeatable(i):
                return kernels.make(i)
            results = recorded.setdefault(i.name, iter(self.results.get(i.name, ())))
            cells = written_cells(i)

            def replayed(*arguments: Any) -> Any:
                try:
                    result, *writes = next(results)
                except StopIteration:
                    raise LookupError(
                        f"{i.describe()} was called more often than when it was recorded."
                    ) from None
                for (_, cell), value in zip(cells(arguments), writes, strict=True):
                    cell.assign(value)
                return result

            return replayed

        return replace(kernels, make=make)

    def _copied(self, result: Any) -> Any:
        if isinstance(result, tuple | list):
            return type(result)([self._copied(part) for part in result])
        if not isinstance(result, np.ndarray):
            return result
        self.room -= result.nbytes
        self.full |= self.room < 0
        return None if self.full else result.copy()
